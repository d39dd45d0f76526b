/** The lifecycles of `--simulate` as Stage objects, for people to read, change and load. The actors
 *  do the same without templates: rendering one takes as long as all else that a pod costs. A test
 *  loads these as they are printed, and compares everything that the actors do with them. Events
 *  are less: those of a stage have a fixed text, and are not about a container. */

import { evictedShare, podDurationsMs, type PodStage } from './pod-durations.ts'
import { stageApiVersion } from './stage.ts'

interface Condition {
  readonly key: string
  readonly operator: 'In' | 'NotIn' | 'Exists' | 'DoesNotExist'
  readonly values?: readonly string[]
}

interface Declared {
  readonly name: string
  readonly kind: 'Pod' | 'Node'
  readonly conditions: readonly Condition[]
  readonly delayMs?: readonly [number, number]
  readonly weight?: number
  readonly next?: object
  readonly steps?: readonly object[]
}

const stays: Condition = { key: '.metadata.deletionTimestamp', operator: 'DoesNotExist' }

function phase(name: string): Condition {
  return { key: '.status.phase', operator: 'In', values: [name] }
}

function restarts(isAlways: boolean): Condition {
  const operator = isAlways ? 'In' : 'NotIn'
  return { key: '.spec.restartPolicy // "Always"', operator, values: ['Always'] }
}

/** Ephemeral containers that do not run yet come before all else. */
function hasNewContainers(has: boolean): Condition {
  const key =
    '(.spec.ephemeralContainers // [] | length) > (.status.ephemeralContainerStatuses // [] | length)'
  return { key, operator: 'In', values: [String(has)] }
}

const ready = '.status.conditions.[] | select( .type == "Ready" ) | .status'

/** For the conditions of an object: a condition that stays as it is keeps its time. */
const knownConditions = `{{ $known := or .status.conditions ( list ) }}`

/** The time since which the dot has had the condition. `type` and `status` are expressions. */
function sinceTemplate(type: string, status: string): string {
  return `{{ $since := Now }}
{{ range $known }}
{{ if and ( eq .type ${type} ) ( eq .status ${status} ) }}
{{ $since = or .lastTransitionTime Now }}
{{ end }}
{{ end }}`
}

function conditionTemplate(type: string, status: string, reason = ''): string {
  return `${sinceTemplate(`"${type}"`, `"${status}"`)}
- type: ${type}
  status: "${status}"
  lastProbeTime: null
  lastTransitionTime: {{ $since | Quote }}${reason === '' ? '' : `\n  reason: ${reason}`}`
}

/** A container of a status, of which the dot is the container of the specification. */
function containerTemplate(
  isReady: boolean,
  isStarted: boolean | undefined,
  state: string,
): string {
  return `- name: {{ .name | Quote }}
  image: {{ .image | Quote }}
  imageID: {{ printf "%s@sha256:%s" ( first ( splitList "@" .image ) ) ( sha256sum .image ) | Quote }}
  containerID: {{ printf "containerd://%s" (sha256sum (printf "%s/%s" $uid .name)) | Quote }}
  restartCount: 0
{{ with .resources }}
{{ with .requests }}
  allocatedResources: {{ toJson . }}
{{ end }}
  resources: {{ toJson . }}
{{ end }}
  ready: ${String(isReady)}${isStarted === undefined ? '' : `\n  started: ${String(isStarted)}`}
  state:
${state}`
}

const running = `    running:
      startedAt: {{ Now | Quote }}`

function terminated(exitCode: number, reason: string): string {
  return `    terminated:
      exitCode: ${String(exitCode)}
      reason: ${reason}
      startedAt: {{ $startedAt | Quote }}
      finishedAt: {{ Now | Quote }}
      containerID: {{ printf "containerd://%s" (sha256sum (printf "%s/%s" $uid .name)) | Quote }}`
}

const started = `{{ $uid := .metadata.uid }}
${knownConditions}
{{ $startedAt := Now }}
phase: Running
conditions:
${conditionTemplate('PodReadyToStartContainers', 'True')}
${conditionTemplate('Initialized', 'True')}
${conditionTemplate('Ready', 'True')}
${conditionTemplate('ContainersReady', 'True')}
hostIP: {{ NodeIPWith .spec.nodeName | Quote }}
hostIPs:
- ip: {{ NodeIPWith .spec.nodeName | Quote }}
{{ $podIP := PodIPWith .spec.nodeName ( or .spec.hostNetwork false ) }}
podIP: {{ $podIP | Quote }}
podIPs:
- ip: {{ $podIP | Quote }}
startTime: {{ Now | Quote }}
{{ with .spec.initContainers }}
initContainerStatuses:
{{ range . }}
${containerTemplate(true, false, terminated(0, 'Completed'))}
{{ end }}
{{ end }}
containerStatuses:
{{ range .spec.containers }}
${containerTemplate(true, true, running)}
{{ end }}
`

const finished = `{{ $uid := .metadata.uid }}
${knownConditions}
{{ $startedAt := or .status.startTime Now }}
phase: Succeeded
conditions:
${conditionTemplate('PodReadyToStartContainers', 'False')}
${conditionTemplate('Initialized', 'True', 'PodCompleted')}
${conditionTemplate('Ready', 'False', 'PodCompleted')}
${conditionTemplate('ContainersReady', 'False', 'PodCompleted')}
containerStatuses:
{{ range .spec.containers }}
${containerTemplate(false, false, terminated(0, 'Completed'))}
{{ end }}
`

const attached = `{{ $uid := .metadata.uid }}
{{ $known := len ( or .status.ephemeralContainerStatuses ( list ) ) }}
ephemeralContainerStatuses:
{{ range .status.ephemeralContainerStatuses }}
- {{ . | toJson }}
{{ end }}
{{ range $i, $one := .spec.ephemeralContainers }}
{{ if ge $i $known }}
${containerTemplate(false, undefined, running)}
{{ end }}
{{ end }}
`

/** Lists of statuses are replaced by a patch: the others are as they were. */
const restarted = `containerStatuses:
{{ range $i, $one := .status.containerStatuses }}
{{ if gt $i 0 }}
- {{ . | toJson }}
{{ else }}
- name: {{ .name | Quote }}
  image: {{ .image | Quote }}
  imageID: {{ .imageID | Quote }}
  containerID: {{ .containerID | Quote }}
  restartCount: {{ add1 .restartCount }}
  ready: true
  started: true
  lastState:
    terminated:
      exitCode: 137
      reason: OOMKilled
      startedAt: {{ or .state.running.startedAt Now | Quote }}
      finishedAt: {{ Now | Quote }}
      containerID: {{ .containerID | Quote }}
  state:
    running:
      startedAt: {{ Now | Quote }}
{{ end }}
{{ end }}
`

const evicted = `{{ $uid := .metadata.uid }}
${knownConditions}
{{ $startedAt := or .status.startTime Now }}
phase: Failed
reason: Evicted
message: 'The node was low on resource: memory. Threshold quantity: 100Mi, available: 64Mi.'
conditions:
${conditionTemplate('DisruptionTarget', 'True', 'TerminationByKubelet')}
${conditionTemplate('PodReadyToStartContainers', 'False')}
${conditionTemplate('Ready', 'False', 'PodFailed')}
${conditionTemplate('ContainersReady', 'False', 'PodFailed')}
containerStatuses:
{{ range .spec.containers }}
${containerTemplate(false, false, terminated(137, 'Error'))}
{{ end }}
`

const nodeConditions = `${knownConditions}
conditions:
{{ range NodeConditions }}
{{ if ne .type "NetworkUnavailable" }}
{{ $type := .type }}
{{ $status := .status }}
${sinceTemplate('$type', '$status')}
- type: {{ .type | Quote }}
  status: {{ .status | Quote }}
  reason: {{ .reason | Quote }}
  message: {{ .message | Quote }}
  lastHeartbeatTime: {{ Now | Quote }}
  lastTransitionTime: {{ $since | Quote }}
{{ end }}
{{ end }}
`

const nodeReady = `${nodeConditions}
{{ if not .status.addresses }}
addresses:
- type: InternalIP
  address: {{ or NodeIP "10.0.0.1" | Quote }}
- type: Hostname
  address: {{ NodeName | Quote }}
capacity: &size
  cpu: "16"
  memory: 65841552Ki
  pods: "110"
allocatable: *size
nodeInfo:
  architecture: amd64
  bootID: ""
  containerRuntimeVersion: containerd://2.1.4
  kernelVersion: 6.12.30
  kubeProxyVersion: ""
  kubeletVersion: {{ Version | Quote }}
  machineID: ""
  operatingSystem: linux
  osImage: Debian GNU/Linux 13 (trixie)
  systemUUID: ""
{{ end }}
`

const declared: readonly Declared[] = [
  {
    name: 'pod-start',
    kind: 'Pod',
    conditions: [stays, phase('Pending')],
    delayMs: durationOf('start'),
    steps: [
      { patch: { subresource: 'status', root: 'status', template: started } },
      ...[
        ['Pulled', 'Container image already present on machine and can be accessed by the pod'],
        ['Created', 'Container created'],
        ['Started', 'Container started'],
      ].map(([reason, message]) => ({ event: { type: 'Normal', reason, message } })),
    ],
  },
  {
    name: 'pod-attach',
    kind: 'Pod',
    conditions: [stays, phase('Running'), hasNewContainers(true)],
    delayMs: durationOf('attach'),
    next: { statusTemplate: attached },
  },
  {
    name: 'pod-finish',
    kind: 'Pod',
    conditions: [stays, phase('Running'), restarts(false), hasNewContainers(false)],
    delayMs: durationOf('finish'),
    next: { statusTemplate: finished },
  },
  {
    name: 'pod-restart',
    kind: 'Pod',
    conditions: [stays, phase('Running'), restarts(true), hasNewContainers(false)],
    delayMs: durationOf('disturb'),
    weight: 100 * (1 - evictedShare),
    next: { statusTemplate: restarted },
  },
  {
    name: 'pod-evict',
    kind: 'Pod',
    conditions: [stays, phase('Running'), restarts(true), hasNewContainers(false)],
    delayMs: durationOf('disturb'),
    weight: 100 * evictedShare,
    next: { statusTemplate: evicted },
  },
  {
    name: 'pod-end',
    kind: 'Pod',
    conditions: [
      { key: '.metadata.deletionTimestamp', operator: 'Exists' },
      { key: '.metadata.finalizers', operator: 'DoesNotExist' },
    ],
    delayMs: durationOf('end'),
    next: {
      event: { type: 'Normal', reason: 'Killing', message: 'Stopping containers' },
      delete: true,
    },
  },
  {
    name: 'node-ready',
    kind: 'Node',
    conditions: [{ key: ready, operator: 'NotIn', values: ['True'] }],
    next: { statusTemplate: nodeReady },
  },
  {
    name: 'node-heartbeat',
    kind: 'Node',
    conditions: [{ key: ready, operator: 'In', values: ['True'] }],
    delayMs: [300_000, 310_000],
    next: { statusTemplate: nodeConditions },
  },
]

function durationOf(stage: PodStage): readonly [number, number] {
  return podDurationsMs[stage]
}

/** The Stage objects, in the order in which they come. */
export const builtInStages: readonly object[] = declared.map(
  ({ name, kind, conditions, delayMs, weight, ...does }) => ({
    apiVersion: stageApiVersion,
    kind: 'Stage',
    metadata: { name },
    spec: {
      resourceRef: { apiGroup: 'v1', kind },
      selector: { matchExpressions: conditions },
      ...(weight === undefined ? {} : { weight }),
      ...(delayMs === undefined
        ? {}
        : {
            delay: {
              durationMilliseconds: delayMs[0],
              jitterDurationMilliseconds: delayMs[1],
            },
          }),
      ...does,
    },
  }),
)

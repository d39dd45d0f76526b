/** Warnings about pods and templates of pods: fields that do nothing any more, and what is hardly
 *  meant. In the order of a kube-apiserver, which looks at one thing after the other. */

import { goQuote } from '@watchglass/go'
import type { Place } from '../validation/place.ts'
import { containersOf } from '../validation/pods/os.ts'
import { ofAddress } from './addresses.ts'
import { ofFraction } from './amounts.ts'
import { ofLabel, ofOldLabel, ofTerm } from './labels.ts'
import { ofClaimSpec } from './claims.ts'
import { ofOldVolume } from './old-volumes.ts'
import { ofOverlaps } from './overlaps.ts'

/** @param template a pod, or a template of pods */
export function ofPod(template: Place, isTemplate: boolean): string[] {
  const [metadata, spec] = [template.in('metadata'), template.in('spec')]
  const annotations = metadata.in('annotations')
  const containers = containersOf(spec)
  return [
    ...ofNodes(spec),
    ...ofOldAnnotations(annotations),
    ...spec.in('volumes').items.flatMap(ofVolume),
    ...ofOverlaps(spec.in('volumes')),
    ...duplicates(spec.in('hostAliases'), 'ip'),
    ...duplicates(spec.in('imagePullSecrets'), 'name'),
    ...spec
      .in('imagePullSecrets')
      .items.map(secret => secret.in('name'))
      .filter(({ text }) => text === '')
      .map(({ path }) => `${path}: invalid empty name ""`),
    ...['memory', 'ephemeral-storage'].flatMap(name => ofFraction(spec.in('overhead'), name)),
    ...(spec.in('securityContext', 'seccompProfile').isSet
      ? []
      : oldProfile(annotations, 'seccomp.security.alpha.kubernetes.io/pod')),
    ...containers.flatMap(container => ofContainer(container, { template, isTemplate })),
    ...ofPorts(containers),
    ...ofPortNames(containers),
    ...(spec.in('terminationGracePeriodSeconds').number < 0
      ? [
          `${spec.in('terminationGracePeriodSeconds').path}: must be >= 0; negative values are invalid and will be treated as 1`,
        ]
      : []),
    ...['podAffinity', 'podAntiAffinity'].flatMap(name => ofAffinity(spec.in('affinity', name))),
    ...spec.in('dnsConfig', 'nameservers').items.flatMap(ofAddress),
    ...spec.in('hostAliases').items.flatMap(alias => ofAddress(alias.in('ip'))),
  ]
}

const noSelector = 'a null labelSelector results in matching no pod'

/** Labels by which nodes are selected. */
function ofNodes(spec: Place): string[] {
  const affinity = spec.in('affinity', 'nodeAffinity')
  const required = 'requiredDuringSchedulingIgnoredDuringExecution'
  const preferred = 'preferredDuringSchedulingIgnoredDuringExecution'
  return [
    ...spec.in('nodeSelector').entries.flatMap(([label, { path }]) => ofOldLabel(label, path)),
    ...affinity.in(required, 'nodeSelectorTerms').items.flatMap(term => ofTerm(term, false)),
    ...affinity.in(preferred).items.flatMap(term => ofTerm(term.in('preference'), true)),
    ...spec
      .in('topologySpreadConstraints')
      .items.flatMap(constraint => [
        ...ofLabel(constraint.in('topologyKey')),
        ...withoutSelector(constraint.in('labelSelector')),
      ]),
  ]
}

function withoutSelector(selector: Place): string[] {
  return selector.isSet ? [] : [`${selector.path}: ${noSelector}`]
}

function ofAffinity(affinity: Place): string[] {
  const [required, preferred] = [
    affinity.in('requiredDuringSchedulingIgnoredDuringExecution'),
    affinity.in('preferredDuringSchedulingIgnoredDuringExecution'),
  ]
  return [
    ...required.items.flatMap(term => withoutSelector(term.in('labelSelector'))),
    ...preferred.items.flatMap(term =>
      withoutSelector(term.in('podAffinityTerm', 'labelSelector')),
    ),
  ]
}

const sysctls = 'non-functional in v1.11+; use the "sysctls" field instead'
const oldAnnotations = [
  [
    'scheduler.alpha.kubernetes.io/critical-pod',
    'non-functional in v1.16+; use the "priorityClassName" field instead',
  ],
  ['security.alpha.kubernetes.io/sysctls', sysctls],
  ['security.alpha.kubernetes.io/unsafe-sysctls', sysctls],
] as const

function ofOldAnnotations(annotations: Place): string[] {
  return oldAnnotations.flatMap(([name, word]) =>
    annotations.object?.has(name) === true ? [`${annotations.path}[${name}]: ${word}`] : [],
  )
}

function oldProfile(annotations: Place, name: string): string[] {
  return annotations.object?.has(name) === true
    ? [
        `${annotations.path}[${name}]: non-functional in v1.27+; use the "seccompProfile" field instead`,
      ]
    : []
}

function ofVolume(volume: Place): string[] {
  return [
    ...ofOldVolume(volume, [
      'photonPersistentDisk',
      'gitRepo',
      'scaleIO',
      'flocker',
      'storageos',
      'quobyte',
      'glusterfs',
    ]),
    ...ofClaimSpec(volume.in('ephemeral', 'volumeClaimTemplate', 'spec')),
    ...ofOldVolume(volume, ['cephfs', 'rbd']),
  ]
}

function duplicates(list: Place, name: string): string[] {
  const seen = new Set<string>()
  return list.items.flatMap(item => {
    const { path, text } = item.in(name)
    if (seen.has(text)) return [`${path}: duplicate ${name} ${goQuote(text)}`]
    seen.add(text)
    return []
  })
}

interface OfTemplate {
  readonly template: Place
  readonly isTemplate: boolean
}

function ofContainer(container: Place, { template, isTemplate }: OfTemplate): string[] {
  const annotations = template.in('metadata', 'annotations')
  const name = container.in('name').text
  const resources = container.in('resources')
  const armor = `container.apparmor.security.beta.kubernetes.io/${name}`
  const hasArmor =
    container.in('securityContext', 'appArmorProfile').isSet ||
    isProfile(template.in('spec', 'securityContext', 'appArmorProfile'), annotations.in(armor).text)
  return [
    ...(container.in('securityContext', 'seccompProfile').isSet
      ? []
      : oldProfile(annotations, `container.seccomp.security.alpha.kubernetes.io/${name}`)),
    ...(isTemplate && !hasArmor && annotations.object?.has(armor) === true
      ? [appArmorWarning(`${annotations.path}[${armor}]`)]
      : []),
    ...['memory', 'ephemeral-storage'].flatMap(amount => [
      ...ofFraction(resources.in('limits'), amount),
      ...ofFraction(resources.in('requests'), amount),
    ]),
    ...ofVariables(container.in('env')),
  ]
}

export function appArmorWarning(path: string): string {
  return `${path}: deprecated since v1.30; use the "appArmorProfile" field instead`
}

/** The addresses of a pod and of its node. */
export function ofPodStatus(status: Place): string[] {
  return ['podIPs', 'hostIPs'].flatMap(list =>
    status.in(list).items.flatMap(item => ofAddress(item.in('ip'))),
  )
}

/** The annotation says what the field of the pod says. */
function isProfile(field: Place, annotation: string): boolean {
  const [type, path] = [field.in('type').text, field.in('localhostProfile').text]
  return (
    (annotation === 'runtime/default' && type === 'RuntimeDefault') ||
    (annotation === 'unconfined' && type === 'Unconfined') ||
    (type === 'Localhost' && annotation === `localhost/${path}`)
  )
}

/** A variable that hides one of the same name, and does not build on it. */
function ofVariables(variables: Place): string[] {
  const seen = new Set<string>()
  return variables.items.flatMap(variable => {
    const [name, value] = [variable.in('name').text, variable.in('value').text]
    if (!seen.has(name)) {
      seen.add(name)
      return []
    }
    const reference = `$(${name})`
    const isHidden =
      variable.in('valueFrom').isSet || value === reference || !value.includes(reference)
    return isHidden
      ? [
          `${variable.path}: hides previous definition of ${goQuote(name)}, which may be dropped when using apply`,
        ]
      : []
  })
}

function ofPorts(containers: readonly Place[]): string[] {
  const known = new Map<string, Place[]>()
  return containers
    .flatMap(container => container.in('ports').items)
    .flatMap(port => {
      const [address, hostPort] = [port.in('hostIP').text, port.in('hostPort').number]
      const key = `${port.in('containerPort').number}/${port.in('protocol').text}`
      const others = known.get(key) ?? []
      known.set(key, [...others, port])
      return [
        ...(address !== '' && hostPort === 0
          ? [`${port.path}: hostIP set without hostPort: ${shownPort(port)}`]
          : []),
        ...others.flatMap(other => ofTwoPorts(port, other)),
      ]
    })
}

function shownPort(port: Place): string {
  const [name, protocol, address] = ['name', 'protocol', 'hostIP'].map(one => port.in(one).text)
  const [hostPort, number] = ['hostPort', 'containerPort'].map(one => port.in(one).number)
  return `{Name:${name} HostPort:${hostPort} ContainerPort:${number} Protocol:${protocol} HostIP:${address}}`
}

function ofTwoPorts(port: Place, other: Place): string[] {
  const [address, before] = [port.in('hostIP').text, other.in('hostIP').text]
  const [hostPort, portBefore] = [port.in('hostPort').number, other.in('hostPort').number]
  const said = (how: string): string[] => [
    `${port.path}: ${how} port definition with ${other.path}`,
  ]
  if (address === before && hostPort === portBefore) return said('duplicate')
  if (hostPort === 0 || portBefore === 0) return said('overlapping')
  const isOpen = (address === '') !== (before === '')
  return hostPort === portBefore && isOpen ? said('dangerously ambiguous') : []
}

function ofPortNames(containers: readonly Place[]): string[] {
  const known = new Map<string, string>()
  return containers
    .flatMap(container => container.in('ports').items)
    .flatMap(port => {
      const name = port.in('name').text
      if (name === '') return []
      const other = known.get(name)
      if (other === undefined) {
        known.set(name, port.path)
        return []
      }
      return [
        `${port.path}: duplicate port name ${goQuote(name)} with ${other}, services and probes that select ports by name will use ${other}`,
      ]
    })
}

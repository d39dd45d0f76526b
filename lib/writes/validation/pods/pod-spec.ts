/** The spec of pods and of their templates, in the order in which the server checks them. */

import {
  byteLength,
  dnsLabel,
  dnsSubdomain,
  dnsSubdomainWithUnderscore,
  inRange,
  qualifiedName,
} from '../formats.ts'
import { internalValue } from '../internal-types.ts'
import { checkLegacyAddress } from '../ip-fields.ts'
import { checkAnnotations, checkLabels } from '../object-meta.ts'
import type { Place } from '../place.ts'
import { checkContainers, checkInitContainers, type PodContext } from './containers.ts'
import { checkEphemeralContainers } from './ephemeral-containers.ts'
import { checkHostProcess, checkOs, containersOf } from './os.ts'
import { checkProfilesMatch, checkPodAnnotations } from './pod-annotations.ts'
import { checkPodResources } from './pod-resources.ts'
import { checkRequirements } from './resources.ts'
import { checkAffinity, checkSpread, checkTolerations } from './scheduling.ts'
import { checkPodSecurity } from './security.ts'
import { checkVolumes } from './volumes.ts'

/** The template of a workload: labels, annotations and spec.
 *  @param old the stored one, of a change */
export function checkTemplate(template: Place, old?: Place): void {
  checkTemplateMeta(template)
  checkPodSpec(template.in('spec'), { podName: '', isPod: false, old: old?.in('spec') })
  checkProfilesMatch(template.in('metadata', 'annotations'), template.in('spec'))
  if (template.in('spec', 'ephemeralContainers').size > 0) {
    template
      .in('spec', 'ephemeralContainers')
      .forbidden('ephemeral containers not allowed in pod template')
  }
}

/** Errors of labels and annotations of a template do not name its metadata. */
export function checkTemplateMeta(template: Place): void {
  const metadata = template.in('metadata')
  checkLabels(metadata.in('labels').as(`${template.path}.labels`))
  const annotations = metadata.in('annotations').as(`${template.path}.annotations`)
  checkAnnotations(annotations)
  checkPodAnnotations(annotations, template.in('spec'))
}

export interface PodKind {
  /** The name of the pod; empty in a template. */
  readonly podName: string
  readonly isPod: boolean
  /** The pod comes from a file on its node (a mirror of a static pod). */
  readonly isStatic?: boolean
  /** The stored spec, of a change: values that were not checked once may stay. */
  readonly old?: Place | undefined
}

export function checkPodSpec(spec: Place, { podName, isPod, isStatic, old }: PodKind): void {
  const grace = spec.in('terminationGracePeriodSeconds')
  if (!grace.isSet) grace.required()
  const volumes = checkVolumes(spec.in('volumes'), { podName, isPod })
  const claimNames = checkResourceClaims(spec.in('resourceClaims'), isStatic === true)
  const context: PodContext = {
    volumes,
    claimNames,
    gracePeriod: grace.isSet ? grace.number : undefined,
    os: spec.in('os', 'name').text,
    restartPolicy: spec.in('restartPolicy').text,
    isHostUsers: spec.in('hostUsers').value !== false,
  }
  checkContainers(spec.in('containers'), context)
  checkInitContainers(spec.in('initContainers'), spec.in('containers'), context)
  checkEphemeralContainers(spec, context)
  checkPodResources(spec, claimNames)
  if (spec.in('hostNetwork').isTrue) checkHostPorts(spec, isPod)
  spec.in('restartPolicy').oneOf(['Always', 'OnFailure', 'Never'], 'required')
  spec.in('dnsPolicy').oneOf(dnsPolicies, 'required')
  checkLabels(spec.in('nodeSelector'))
  checkPodSecurity(spec.in('securityContext'), spec)
  checkAffinity(spec.in('affinity'), old)
  checkDns(spec)
  for (const gate of spec.in('readinessGates').items) gate.in('conditionType').mustBe(qualifiedName)
  checkSchedulingGates(spec.in('schedulingGates'))
  checkSpread(spec.in('topologySpreadConstraints'), old)
  checkHostProcess(spec)
  checkHostUsers(spec)
  checkHostnameOverride(spec)
  checkNames(spec)
  checkTail(spec)
}

const dnsPolicies = ['ClusterFirstWithHostNet', 'ClusterFirst', 'Default', 'None']

function checkResourceClaims(claims: Place, isStatic: boolean): ReadonlySet<string> {
  const seen = new Set<string>()
  for (const claim of claims.items) {
    if (isStatic) {
      claim.as('[]').forbidden('static pods do not support resource claims')
      continue
    }
    const [name, own, template] = [
      claim.in('name'),
      claim.in('resourceClaimName'),
      claim.in('resourceClaimTemplateName'),
    ]
    if (name.text === '') name.required()
    else if (seen.has(name.text)) name.duplicate()
    else {
      name.mustBe(dnsLabel)
      seen.add(name.text)
    }
    const shown = internalValue('PodResourceClaim', claim.value)
    if (own.isSet && template.isSet) {
      claim.invalid(
        'at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified',
        shown,
      )
    }
    if (!own.isSet && !template.isSet) {
      claim.invalid('must specify one of: `resourceClaimName`, `resourceClaimTemplateName`', shown)
    }
    for (const place of [own, template]) if (place.isSet) place.mustBe(dnsSubdomain)
  }
  return new Set(claims.items.map(claim => claim.in('name').text).filter(name => name !== ''))
}

function checkHostPorts(spec: Place, isPod: boolean): void {
  for (const container of spec.in('containers').items) {
    for (const port of container.in('ports').items) {
      const hostPort = port.in('hostPort')
      const isChecked = isPod || hostPort.number !== 0
      if (isChecked && hostPort.number !== port.in('containerPort').number) {
        hostPort.invalid('must match `containerPort` when `hostNetwork` is true', hostPort.number)
      }
    }
  }
}

function checkDns(spec: Place): void {
  const config = spec.in('dnsConfig')
  const [servers, searches] = [config.in('nameservers'), config.in('searches')]
  if (spec.in('dnsPolicy').text === 'None') {
    if (!config.isSet) {
      config.required('must provide `dnsConfig` when `dnsPolicy` is None')
      return
    }
    if (servers.size === 0) {
      servers.required('must provide at least one DNS nameserver when `dnsPolicy` is None')
      return
    }
  }
  if (servers.size > 3) servers.invalid('must not have more than 3 nameservers')
  for (const server of servers.items) checkLegacyAddress(server)
  if (searches.size > 32) searches.invalid('must not have more than 32 search paths')
  if (byteLength(searches.texts.join(' ')) > 2048) {
    searches.invalid(
      'must not have more than 2048 characters (including spaces) in the search list',
    )
  }
  for (const search of searches.items) {
    const text = search.text.replace(/\.$/, '')
    if (search.text !== '.') search.invalidFor(dnsSubdomainWithUnderscore(text), text)
  }
  for (const option of config.in('options').items) {
    if (option.in('name').text === '') option.required('must not be empty')
  }
}

function checkSchedulingGates(gates: Place): void {
  const seen = new Set<string>()
  for (const gate of gates.items) {
    const name = gate.as(gate.path, gate.in('name').value ?? '')
    name.mustBe(qualifiedName)
    if (seen.has(name.text)) name.duplicate(name.text)
    seen.add(name.text)
  }
}

function checkHostUsers(spec: Place): void {
  if (spec.in('hostUsers').value !== false) return
  const detail = 'when `hostUsers` is false'
  if (spec.in('hostNetwork').isTrue) spec.in('hostNetwork').forbidden(detail)
  if (spec.in('hostPID').isTrue) spec.in('HostPID').forbidden(detail)
  if (spec.in('hostIPC').isTrue) spec.in('HostIPC').forbidden(detail)
  for (const container of containersOf(spec)) {
    const devices = container.in('volumeDevices')
    if (devices.size > 0) devices.forbidden(detail)
  }
}

function checkHostnameOverride(spec: Place): void {
  const name = spec.in('hostnameOverride')
  if (!name.isSet) return
  if (spec.in('setHostnameAsFQDN').isTrue) {
    name.forbidden('may not be specified when setHostnameAsFQDN is true')
  }
  if (spec.in('hostNetwork').isTrue) {
    name.forbidden('may not be specified when hostNetwork is true')
  }
  if (byteLength(name.text) > 64) name.tooLong(64)
  name.mustBe(dnsSubdomain)
}

function checkNames(spec: Place): void {
  const formats = [
    ['serviceAccountName', dnsSubdomain],
    ['nodeName', dnsSubdomain],
  ] as const
  for (const [name, format] of formats) {
    if (spec.in(name).text !== '') spec.in(name).mustBe(format)
  }
  const deadline = spec.in('activeDeadlineSeconds')
  if (deadline.isSet) deadline.invalidFor(inRange(deadline.number, 1, 2147483647))
  for (const name of ['hostname', 'subdomain']) {
    if (spec.in(name).text !== '') spec.in(name).mustBe(dnsLabel)
  }
}

function checkTail(spec: Place): void {
  checkTolerations(spec.in('tolerations'))
  for (const alias of spec.in('hostAliases').items) {
    checkLegacyAddress(alias.in('ip'))
    for (const hostname of alias.in('hostnames').items) hostname.mustBe(dnsSubdomain)
  }
  const [priority, runtime] = [spec.in('priorityClassName'), spec.in('runtimeClassName')]
  if (priority.text !== '') priority.mustBe(dnsSubdomain)
  if (runtime.isSet) runtime.mustBe(dnsSubdomain)
  const preemption = spec.in('preemptionPolicy')
  if (preemption.isSet) preemption.oneOf(['PreemptLowerPriority', 'Never'], 'required')
  const overhead = spec.in('overhead')
  if (overhead.isSet) {
    const requirements = new Map([['limits', overhead.value ?? null]])
    checkRequirements(overhead.as(overhead.path, requirements), new Set())
  }
  checkOs(spec)
  checkFileVolumes(spec)
}

/** Variables that come from files: these lie in volumes that are made for the pod. */
function checkFileVolumes(spec: Place): void {
  const volumes = new Map(spec.in('volumes').items.map(volume => [volume.in('name').text, volume]))
  for (const container of containersOf(spec)) {
    for (const variable of container.in('env').items) {
      const file = variable.in('valueFrom', 'fileKeyRef')
      if (!file.isSet) continue
      const name = file.in('volumeName')
      const volume = volumes.get(name.text)
      if (volume === undefined) name.notFound(name.text)
      else if (!volume.in('emptyDir').isSet) {
        name.invalid('referenced volume must be of type emptyDir', name.text)
      }
    }
  }
}

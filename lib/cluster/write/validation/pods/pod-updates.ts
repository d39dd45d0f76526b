/** Which fields of a pod may change. */

import { inRange } from '../formats.ts'
import type { JsonObject, JsonValue } from '../../../../codec/json/tree.ts'
import { isSame } from '../object-meta.ts'
import type { Place } from '../place.ts'
import { checkAnnotationUpdates } from './pod-annotations.ts'
import { checkTolerations } from './scheduling.ts'

export function checkPodUpdate(object: Place, old: Place): void {
  const [spec, before] = [object.in('spec'), old.in('spec')]
  checkAnnotationUpdates(object.in('metadata', 'annotations'), old)
  for (const name of ['containers', 'initContainers']) {
    if (!checkContainerUpdates(spec.in(name), before.in(name))) return
  }
  checkDeadlineUpdate(spec, before)
  checkTolerationUpdates(spec.in('tolerations'), before.in('tolerations'))
  const known = new Set(before.in('schedulingGates').items.map(gate => gate.in('name').text))
  for (const gate of spec.in('schedulingGates').items) {
    const name = gate.in('name')
    if (known.has(name.text)) continue
    name.forbidden(`only deletion is allowed, but found new scheduling gate '${name.text}'`)
  }
  if (!isSame(spec.value, before.value)) checkRest(spec, before)
}

const changeable = [
  '`spec.containers[*].image`',
  '`spec.initContainers[*].image`',
  '`spec.activeDeadlineSeconds`',
  '`spec.tolerations` (only additions to existing tolerations)',
  '`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)',
].join(',')

/** Everything but what may change must be as it was. A kube-apiserver's message goes on with the
 *  lines that differ between two prints of its internal structs; ours ends before them, as those
 *  of volumes and claims do: no program reads those lines, and they took a port of difflib. */
function checkRest(spec: Place, before: Place): void {
  const rest: JsonObject = new Map(spec.object)
  const old = before.object ?? new Map()
  for (const name of ['containers', 'initContainers']) {
    const images = before.in(name).items.map(container => container.in('image').text)
    const containers = spec
      .in(name)
      .items.map(({ object }, i) => new Map([...(object ?? []), ['image', images[i] ?? '']]))
    if (rest.has(name)) rest.set(name, containers as JsonValue[])
  }
  for (const name of ['activeDeadlineSeconds', 'schedulingGates', 'tolerations']) {
    keep(rest, old, name)
  }
  const grace = 'terminationGracePeriodSeconds'
  if (before.in(grace).number < 0 && spec.in(grace).number === 1) keep(rest, old, grace)
  if (before.in('schedulingGates').size > 0) checkGated(spec, before, rest)
  if (isSame(rest, old)) return
  spec.forbidden(`pod updates may not change fields other than ${changeable}`)
}

function keep(rest: JsonObject, old: JsonObject, name: string): void {
  const value = old.get(name)
  if (value === undefined) rest.delete(name)
  else rest.set(name, value)
}

/** Checks that a pod which waits for its gates only narrows where it may run (KEP-3838). */
function checkGated(spec: Place, before: Place, rest: JsonObject): void {
  const [now, then] = [spec.in('nodeSelector'), before.in('nodeSelector')]
  if (!isSame(now.value, then.value)) {
    const isWider = then.entries.some(([key, value]) => now.in(key).text !== value.text)
    if (isWider) {
      now.invalid(
        'only additions to spec.nodeSelector are allowed (no mutations or deletions)',
        now.value ?? null,
      )
    }
    keep(rest, before.object ?? new Map(), 'nodeSelector')
  }
  const [affinity, old] = [spec.in('affinity'), before.in('affinity')]
  if (isSame(affinity.in('nodeAffinity').value, old.in('nodeAffinity').value)) return
  const members: JsonObject = new Map(affinity.object)
  keep(members, old.object ?? new Map(), 'nodeAffinity')
  if (members.size === 0 && !old.isSet) rest.delete('affinity')
  else rest.set('affinity', members)
}

/** False if nothing more is to be checked. */
function checkContainerUpdates(containers: Place, before: Place): boolean {
  if (containers.size !== before.size) {
    containers.forbidden('pod updates may not add or remove containers')
    return false
  }
  for (const container of containers.items) {
    const image = container.in('image')
    if (image.text === '') image.required()
    if (image.text.trim() !== image.text) {
      image.invalid('must not have leading or trailing whitespace')
    }
  }
  return true
}

function checkDeadlineUpdate(spec: Place, before: Place): void {
  const [now, then] = [spec.in('activeDeadlineSeconds'), before.in('activeDeadlineSeconds')]
  if (now.isSet) {
    now.invalidFor(inRange(now.number, 0, 2147483647))
    if (then.isSet && then.number < now.number) {
      now.invalid('must be less than or equal to previous value')
    }
  } else if (then.isSet) {
    now.invalid('must not update from a positive integer to nil value', null)
  }
}

function checkTolerationUpdates(tolerations: Place, before: Place): void {
  const bare = (toleration: Place): ReadonlyMap<string, unknown> =>
    new Map([...(toleration.object ?? [])].filter(([name]) => name !== 'tolerationSeconds'))
  for (const old of before.items) {
    const isKept = tolerations.items.some(toleration =>
      isSame(bare(toleration) as never, bare(old) as never),
    )
    if (!isKept) {
      tolerations.forbidden('existing toleration can not be modified except its tolerationSeconds')
      return
    }
  }
  checkTolerations(tolerations)
}

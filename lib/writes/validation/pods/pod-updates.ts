/** The fields of a pod that may change. */

import { inRange } from '../formats.ts'
import type { JsonObject, JsonValue } from '@watchglass/go'
import { internalValue } from '../internal-types.ts'
import { isSame } from '../object-meta.ts'
import type { Place } from '../place.ts'
import { checkAnnotationUpdates } from './pod-annotations.ts'
import { checkTolerations } from './scheduling.ts'

export function checkPodUpdate(object: Place, old: Place): void {
  const [spec, before] = [object.in('spec'), old.in('spec')]
  checkAnnotationUpdates(object, old)
  for (const name of ['containers', 'initContainers']) {
    if (!checkContainerUpdates(spec.in(name), before.in(name))) return
  }
  if (!checkDeadlineUpdate(spec, before)) return
  checkTolerationUpdates(spec.in('tolerations'), before.in('tolerations'))
  checkGateUpdates(spec.in('schedulingGates'), before.in('schedulingGates'))
  if (!isSame(spec.value, before.value)) checkRest(spec, before)
}

/** Checks that gates only go. Of one that is there twice, the last is told. */
function checkGateUpdates(gates: Place, before: Place): void {
  const names = new Map(gates.items.map(gate => [gate.in('name').text, gate.in('name')]))
  for (const gate of before.items) names.delete(gate.in('name').text)
  for (const [text, name] of names) {
    name.forbidden(`only deletion is allowed, but found new scheduling gate '${text}'`)
  }
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
        now.shown,
      )
    }
    keep(rest, before.object ?? new Map(), 'nodeSelector')
  }
  const [affinity, old] = [spec.in('affinity'), before.in('affinity')]
  if (isSame(affinity.in('nodeAffinity').value, old.in('nodeAffinity').value)) return
  const path = ['nodeAffinity', required, 'nodeSelectorTerms'] as const
  checkNodeTerms(affinity.in(...path), old.in(...path))
  const members: JsonObject = new Map(affinity.object)
  keep(members, old.object ?? new Map(), 'nodeAffinity')
  if (members.size === 0 && !old.isSet) rest.delete('affinity')
  else rest.set('affinity', members)
}

const required = 'requiredDuringSchedulingIgnoredDuringExecution'

/** Checks that terms only get more requirements. What is preferred is free. */
function checkNodeTerms(terms: Place, before: Place): void {
  if (before.size === 0) return
  if (terms.size !== before.size) {
    const detail = 'no additions/deletions to non-empty NodeSelectorTerms list are allowed'
    terms.invalid(detail, internalValue('[]NodeSelectorTerm', terms.value))
    return
  }
  for (const [i, old] of before.items.entries()) {
    const term = terms.item(i)
    if (isNarrower(term, old)) continue
    const shown = internalValue('NodeSelectorTerm', term.value)
    term.invalid('only additions are allowed (no mutations or deletions)', shown)
  }
}

/** True for a term with the requirements that it had, and maybe more of them after these. A term
 *  without any selects nothing, and stays so. */
function isNarrower(term: Place, before: Place): boolean {
  const lists = ['matchExpressions', 'matchFields']
  if (lists.every(name => before.in(name).size === 0)) {
    return lists.every(name => term.in(name).size === 0)
  }
  return lists.every(name =>
    before.in(name).items.every((item, i) => isSame(term.in(name).item(i).value, item.value)),
  )
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

/** False if nothing more is to be checked. */
function checkDeadlineUpdate(spec: Place, before: Place): boolean {
  const [now, then] = [spec.in('activeDeadlineSeconds'), before.in('activeDeadlineSeconds')]
  if (now.isSet) {
    const problems = inRange(now.number, 0, 2147483647)
    now.invalidFor(problems)
    if (problems.length > 0) return false
    if (then.isSet && then.number < now.number) {
      now.invalid('must be less than or equal to previous value')
      return false
    }
  } else if (then.isSet) {
    now.invalid('must not update from a positive integer to nil value', null)
  }
  return true
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

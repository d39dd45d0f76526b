/** Resizes of pods: the processor time and memory of containers may change, and nothing else
 *  (KEP-1287). */

import type { JsonObject } from '@watchglass/go'
import { qualityOf } from '../../kinds/shared/quality-of-service.ts'
import { isSame } from '../object-meta.ts'
import type { Place } from '../place.ts'
import { mirrorAnnotation } from './pod-annotations.ts'

/** False if the pod cannot be resized at all: then no other error is told of. */
export function canBeResized(object: Place, old: Place): boolean {
  const pod = object.as('[]')
  if (old.in('metadata', 'annotations', mirrorAnnotation).isSet) {
    pod.forbidden('static pods cannot be resized')
    return false
  }
  if (old.in('spec', 'os', 'name').text === 'windows') {
    pod.forbidden('windows pods cannot be resized')
    return false
  }
  return true
}

export function checkResize(object: Place, old: Place): void {
  const [spec, before] = [object.in('spec'), old.in('spec')]
  const noted = old.in('status', 'qosClass').text
  if ((noted === '' ? qualityOf(before.value) : noted) !== qualityOf(spec.value)) {
    spec.invalid('Pod QOS Class may not change as a result of resizing', noted)
  }
  if (!isSupported(old)) spec.forbidden('Pod running on node without support for resize')
  checkPodLevel(spec, before)
  const changes = ['containers', 'initContainers'].map(name =>
    checkOrder(spec.in(name), before.in(name), name),
  )
  if (changes.includes(true)) return
  for (const name of ['initContainers', 'containers']) {
    for (const [now, then] of pairs(spec.in(name), before.in(name))) {
      checkKept(now, then, 'resource')
    }
  }
  for (const [now, then] of pairs(spec.in('containers'), before.in('containers'))) {
    if (!isResizeOnly(now, then)) spec.forbidden('only cpu and memory resources are mutable')
  }
  for (const [now, then] of pairs(spec.in('initContainers'), before.in('initContainers'))) {
    checkInitContainer(now, then)
  }
}

/** The resources of the whole pod. */
function checkPodLevel(spec: Place, before: Place): void {
  const [now, then] = [spec.in('resources'), before.in('resources')]
  if (then.isSet && !now.isSet) {
    const isAny = then.in('requests').size + then.in('limits').size > 0
    if (isAny) now.forbidden('pod-level resources cannot be removed')
    return
  }
  checkKept(spec, before, 'pod-level resource')
  const areClaimsKept = isSame(now.in('claims').value, then.in('claims').value)
  if (!areClaimsKept || !isSame(fixedAmounts(spec), fixedAmounts(before))) {
    spec.forbidden('only cpu and memory resources are mutable at pod-level')
  }
}

function pairs(now: Place, then: Place): (readonly [Place, Place])[] {
  const known = then.items
  return now.items.flatMap((container, i) => {
    const before = known[i]
    return before === undefined ? [] : [[container, before] as const]
  })
}

/** A node that knows resizes says what a running container has. */
function isSupported(pod: Place): boolean {
  const running = pod
    .in('status', 'containerStatuses')
    .items.find(status => status.in('state', 'running').isSet)
  return running === undefined || running.in('resources').isSet
}

/** True if they are not the same containers. */
function checkOrder(containers: Place, before: Place, name: string): boolean {
  if (containers.size !== before.size) {
    containers.forbidden(`${name} may not be added or removed on resize`)
    return true
  }
  const renamed = containers.items.filter(
    (container, i) => container.in('name').text !== before.items[i]?.in('name').text,
  )
  for (const container of renamed) {
    container.in('name').forbidden(`${name} may not be renamed or reordered on resize`)
  }
  return renamed.length > 0
}

/** Requests and limits that there are may change, and stay. */
function checkKept(container: Place, before: Place, what: string): void {
  for (const name of ['requests', 'limits'] as const) {
    const now = container.in('resources', name)
    const then = before.in('resources', name)
    const isRemoved = [...(then.object?.keys() ?? [])].some(key => now.object?.has(key) !== true)
    if (isRemoved) now.forbidden(`${what} ${name} cannot be removed`)
  }
}

function checkInitContainer(container: Place, before: Place): void {
  if (!isResizeOnly(container, before)) {
    container.forbidden('only cpu and memory resources for init or sidecar containers are mutable')
  }
  const isSidecar = container.in('restartPolicy').text === 'Always'
  if (isSidecar || isSame(container.value, before.value)) return
  for (const policy of container.in('resizePolicy').items) {
    if (policy.in('restartPolicy').text !== 'RestartContainer') continue
    container.forbidden(
      'non-sidecar init containers with a resize policy of RestartContainer cannot be resized',
    )
  }
}

function isResizeOnly(container: Place, before: Place): boolean {
  // The server forgets the claims of the one, and compares it with the other.
  const claims = before.in('resources', 'claims').value ?? null
  const old = new Map([...withoutResizable(before), ['claims', claims] as const])
  return isSame(withoutResizable(container), old)
}

/** The container without the amounts that may change, and without claims. */
function withoutResizable(container: Place): JsonObject {
  const rest: JsonObject = new Map(container.object)
  rest.delete('resources')
  return new Map([...rest, ...fixedAmounts(container)])
}

/** The amounts that may not change. */
function fixedAmounts(owner: Place): JsonObject {
  const fixed: JsonObject = new Map()
  for (const name of ['requests', 'limits']) {
    const amounts: JsonObject = new Map(owner.in('resources', name).object)
    amounts.delete('cpu')
    amounts.delete('memory')
    fixed.set(name, amounts)
  }
  return fixed
}

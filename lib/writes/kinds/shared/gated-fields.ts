/** Fields whose feature gates are off in a kube-apiserver with default flags, or whose feature is
 *  gone: a write loses them, unless the object had them before. */

import { itemsOf, type JsonObject, type JsonValue, memberAt, memberOf } from '@watchglass/go'

/** Removes the field at this path. */
export function dropGatedField(
  path: readonly string[],
  object: JsonObject,
  old: JsonObject | undefined,
): void {
  const [parent, name = ''] = [memberAt(object, path.slice(0, -1)), path.at(-1)]
  if (parent instanceof Map && !isThere(memberAt(old, path))) parent.delete(name)
}

/** Removes those of the status of a pod. */
export function dropGatedFieldsOfPodStatus(object: JsonObject, old: JsonObject): void {
  dropGatedField(['status', 'nodeAllocatableResourceClaimStatuses'], object, old)
  if (mountsOf(old).some(mount => isThere(memberOf(mount, 'volumeStatus')))) return
  for (const mount of mountsOf(object)) if (mount instanceof Map) mount.delete('volumeStatus')
}

/** Mounts in the status of a pod. */
function mountsOf(pod: JsonObject): JsonValue[] {
  return ['containerStatuses', 'initContainerStatuses', 'ephemeralContainerStatuses']
    .flatMap(list => itemsOf(memberAt(pod, ['status', list])))
    .flatMap(status => itemsOf(memberOf(status, 'volumeMounts')))
}

/** Removes those of the pod, or the template of pods, at this path. */
export function dropGatedFieldsOfPod(
  path: readonly string[],
  object: JsonObject,
  old: JsonObject | undefined,
): void {
  const spec = memberAt(object, path)
  if (!(spec instanceof Map)) return
  const before = memberAt(old, path)
  dropGatedField([...path, 'schedulingGroup'], object, old)
  for (const name of ['clusterTrustBundle', 'podCertificate']) {
    if (!sourcesOf(before).some(source => isThere(memberOf(source, name)))) {
      for (const source of sourcesOf(spec)) if (source instanceof Map) source.delete(name)
    }
  }
  if (!lifecyclesOf(before).some(lifecycle => isThere(lifecycle.get('stopSignal')))) {
    for (const container of containersOf(spec)) dropStopSignal(container)
  }
}

function isThere(value: JsonValue | undefined): boolean {
  return value !== undefined && value !== null
}

/** The sources of projected volumes. */
function sourcesOf(spec: JsonValue | undefined): JsonValue[] {
  return itemsOf(memberOf(spec, 'volumes')).flatMap(volume => [
    ...itemsOf(memberOf(memberOf(volume, 'projected'), 'sources')),
  ])
}

function containersOf(spec: JsonValue | undefined): JsonValue[] {
  return ['initContainers', 'containers', 'ephemeralContainers'].flatMap(list => [
    ...itemsOf(memberOf(spec, list)),
  ])
}

function lifecyclesOf(spec: JsonValue | undefined): JsonObject[] {
  return containersOf(spec)
    .map(container => memberOf(container, 'lifecycle'))
    .filter(lifecycle => lifecycle instanceof Map)
}

function dropStopSignal(container: JsonValue): void {
  const lifecycle = memberOf(container, 'lifecycle')
  if (!(container instanceof Map) || !(lifecycle instanceof Map)) return
  if (!isThere(lifecycle.get('stopSignal'))) return
  lifecycle.delete('stopSignal')
  if (![...lifecycle.values()].some(isThere)) container.delete('lifecycle')
}

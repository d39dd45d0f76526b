/** Metadata as Go's ObjectMeta writes it. */

const order = [
  'name',
  'generateName',
  'namespace',
  'selfLink',
  'uid',
  'resourceVersion',
  'generation',
  'creationTimestamp',
  'deletionTimestamp',
  'deletionGracePeriodSeconds',
  'labels',
  'annotations',
  'ownerReferences',
  'finalizers',
  'managedFields',
]

export function compactMetadata(stored: Record<string, unknown>, revision: number): object {
  const members = { ...stored, resourceVersion: String(revision) } as Record<string, unknown>
  return Object.fromEntries(
    order.flatMap(name => (isEmpty(members[name]) ? [] : [[name, sorted(name, members[name])]])),
  )
}

function isEmpty(value: unknown): boolean {
  if (value === undefined || value === null || value === '') return true
  return typeof value === 'object' && Object.keys(value).length === 0
}

function sorted(name: string, value: unknown): unknown {
  if (name !== 'labels' && name !== 'annotations') return value
  const members = Object.entries(value as Record<string, string>)
  return Object.fromEntries(members.sort(([a], [b]) => (a < b ? -1 : 1)))
}

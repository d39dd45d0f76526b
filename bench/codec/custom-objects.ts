/** Custom resources with the contents of pods, as the API server stores them: JSON with sorted
 *  names; and a structural schema that declares everything in them. */

/** The stored text of each pod as an object of another kind. */
export function customObjects(pods: readonly Uint8Array[]): Uint8Array[] {
  return pods.map(pod => {
    const object = JSON.parse(Buffer.from(pod).toString()) as { metadata: object }
    const metadata = { ...object.metadata, generation: 1 }
    const custom = { ...object, metadata, kind: 'Workload', apiVersion: 'example.com/v1' }
    return Buffer.from(`${JSON.stringify(sorted(custom))}\n`)
  })
}

interface Schema {
  type: string
  nullable?: true
  properties?: Record<string, Schema>
  items?: Schema
  'x-kubernetes-preserve-unknown-fields'?: true
}

/** A schema that all of the objects fit. */
export function structuralOf(objects: readonly Uint8Array[]): object {
  const values = objects.map(text => JSON.parse(Buffer.from(text).toString()) as object)
  const { properties = {} } = schemaOfValues(values)
  // The API server has a type of its own for metadata.
  return { type: 'object', properties: { ...properties, metadata: { type: 'object' } } }
}

function schemaOfValues(values: readonly unknown[]): Schema {
  const known = values.filter(value => value !== null)
  const [first] = known
  if (Array.isArray(first)) return { type: 'array', items: schemaOfValues(known.flat()) }
  if (typeof first === 'object') {
    const names = new Set(known.flatMap(value => Object.keys(value as object)))
    const properties = [...names].map(
      name =>
        [
          name,
          schemaOfValues(
            known
              .map(value => (value as Record<string, unknown>)[name])
              .filter(value => value !== undefined),
          ),
        ] as const,
    )
    return { type: 'object', properties: Object.fromEntries(properties) }
  }
  const type = first === undefined ? 'string' : typeof first === 'number' ? 'integer' : typeof first
  return known.length < values.length ? { type, nullable: true } : { type }
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  return Object.fromEntries(entries.map(([name, member]) => [name, sorted(member)]))
}

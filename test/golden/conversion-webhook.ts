/** The conversion webhook of the recordings: an object has a host and a port in v1, and an address
 *  in v2. Some paths go wrong in one way each. */

interface Converted {
  readonly apiVersion: string
  readonly metadata: object
  readonly spec?: { host?: string; port?: number; address?: string; note?: string }
}

interface Review {
  readonly apiVersion: string
  readonly request: {
    readonly uid: string
    readonly desiredAPIVersion: string
    readonly objects: readonly Converted[]
  }
}

/** The answer to a review that came at a path. */
export function convertedAt(
  path: string,
  body: string,
): { readonly status: number; readonly body: string } {
  const [way] = path.split('?')
  if (way === '/convert-500') return { status: 500, body: 'it is broken' }
  const { apiVersion, request } = JSON.parse(body) as Review
  const { desiredAPIVersion: to } = request
  const convertedObjects = request.objects.map(object => {
    const changed = way === '/convert-version' ? object : converted(object, to)
    const { metadata } = changed
    if (way === '/convert-rename') return { ...changed, metadata: { ...metadata, name: 'other' } }
    if (way === '/convert-uid') return { ...changed, metadata: { ...metadata, uid: 'other' } }
    return changed
  })
  const uid = way === '/convert-badid' ? 'other' : request.uid
  const response = { uid, convertedObjects, result: { status: 'Success' } }
  return { status: 200, body: JSON.stringify({ apiVersion, kind: 'ConversionReview', response }) }
}

function converted(object: Converted, to: string): Converted {
  const { spec } = object
  if (spec === undefined) return { ...object, apiVersion: to }
  const { host, port, address, ...others } = spec
  if (to.endsWith('/v1')) {
    const [name, number] = address?.split(':') ?? []
    const made = name === undefined ? {} : { host: name, port: Number(number) }
    return { ...object, apiVersion: to, spec: { ...others, ...made } }
  }
  const made = host === undefined ? {} : { address: `${host}:${String(port)}` }
  return { ...object, apiVersion: to, spec: { ...others, ...made } }
}

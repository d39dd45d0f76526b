/** The answers of upstream's sample server: stored objects are decoded by its types, defaulted,
 *  converted, and encoded again. */

import { compactMetadata } from './typed-metadata.ts'

export interface Stored {
  readonly kind: string
  readonly apiVersion: string
  readonly metadata: Record<string, unknown>
  readonly spec?: Record<string, string>
  readonly disallowedFlunders?: readonly string[]
}

export const group = 'wardle.example.com'

export interface ServedAs {
  readonly version: string
  readonly revision: number
  readonly isItem?: boolean
}

/** The members of an object in the order of its Go type. */
export function served(stored: Stored, { version, revision, isItem }: ServedAs): object {
  const type = isItem === true ? {} : { kind: stored.kind, apiVersion: `${group}/${version}` }
  const metadata = compactMetadata(stored.metadata, revision)
  if (stored.kind === 'Fischer') {
    const disallowed = stored.disallowedFlunders ?? []
    return {
      ...type,
      metadata,
      ...(disallowed.length === 0 ? {} : { disallowedFlunders: disallowed }),
    }
  }
  return { ...type, metadata, spec: specOf(stored, version), status: {} }
}

/** By way of the internal type, which keeps the two references apart. */
function specOf({ spec = {}, apiVersion }: Stored, version: string): object {
  const isOld = apiVersion.endsWith('/v1alpha1')
  const defaulted = spec['reference'] ? 'Flunder' : ''
  const type = spec['referenceType'] || (isOld ? defaulted : typeOfBeta(spec))
  if (type !== 'Flunder' && type !== 'Fischer') return {}
  const named = type === 'Flunder' ? spec['flunderReference'] : spec['fischerReference']
  const reference = isOld ? spec['reference'] : named
  const name =
    version === 'v1alpha1'
      ? 'reference'
      : type === 'Flunder'
        ? 'flunderReference'
        : 'fischerReference'
  return { ...(reference ? { [name]: reference } : {}), referenceType: type }
}

function typeOfBeta(spec: Record<string, string>): string {
  if (spec['flunderReference']) return 'Flunder'
  return spec['fischerReference'] ? 'Fischer' : ''
}

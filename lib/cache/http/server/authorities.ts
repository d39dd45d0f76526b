/** Authorities that sign client certificates, as PEM files hold them. */

import { X509Certificate } from 'node:crypto'
import { CacheError } from '@watchglass/base'

const begin = '-----BEGIN CERTIFICATE-----'
const end = '-----END CERTIFICATE-----'

/** The authorities in a PEM file. Throws what X509Certificate throws if one is malformed. */
export function authoritiesOf(pem: string): X509Certificate[] {
  const blocks = pem.split(begin).slice(1)
  return blocks.flatMap(block => {
    const [inner = '', ...rest] = block.split(end)
    return rest.length === 0 ? [] : new X509Certificate(begin + inner + end)
  })
}

/** Refuses a PEM file without a certificate: with it no client would be believed, and no message
 *  would say why. */
export function requireAuthorities(option: string, pem: string): void {
  let count = 0
  try {
    count = authoritiesOf(pem).length
  } catch (error) {
    const { message } = CacheError.from(error, 'invalid_request')
    throw new CacheError('invalid_request', `${option} is not a certificate: ${message}`, {
      cause: error,
    })
  }
  if (count === 0) throw new CacheError('invalid_request', `${option} has no certificate (PEM)`)
}

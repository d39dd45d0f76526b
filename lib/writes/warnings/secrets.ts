/** Secrets whose certificate is not of their key. */

import { type JsonObject, memberAt } from '@watchglass/go'
import { textOf } from '../metadata.ts'
import type { WriteSession } from '../operations/session.ts'

/** The warning about a Secret of the type `kubernetes.io/tls`, if there is one. */
export function ofSecret(object: JsonObject, { services }: WriteSession): string[] {
  if (textOf(object.get('type')) !== 'kubernetes.io/tls') return []
  const [certificate = '', key = ''] = ['tls.crt', 'tls.key'].map(name =>
    Buffer.from(textOf(memberAt(object, ['data', name])), 'base64').toString('latin1'),
  )
  const problem = services.keyPairProblem?.(certificate, key)
  return problem === undefined ? [] : [problem]
}

/** The refusals of admission plugins, in the words of kube-apiserver. */

import type { StatusCause, StatusError } from '@watchglass/kube'
import { metaText } from '../metadata.ts'
import { forbiddenWrite } from '../refusals.ts'
import type { AdmissionAttributes } from './plugin.ts'

/** The write is forbidden, for a reason. */
export function forbidden(
  attributes: AdmissionAttributes,
  reason: string,
  causes?: readonly StatusCause[],
): StatusError {
  return forbiddenWrite(attributes.session.kind, nameOf(attributes), reason, causes)
}

/** The name of the request. A name that is to be generated is not known yet. */
export function nameOf({ session, object }: AdmissionAttributes): string {
  if (session.name !== '') return session.name
  if (object === undefined) return 'Unknown'
  return metaText(object, 'name') || metaText(object, 'generateName') || 'Unknown'
}

/** Several errors as one text, each of them once. */
export function aggregated(errors: readonly string[]): string {
  const distinct = [...new Set(errors)]
  return distinct.length === 1 ? (distinct[0] ?? '') : `[${distinct.join(', ')}]`
}

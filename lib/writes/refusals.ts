/** The refusals of writes, in the words of kube-apiserver. */

import { goQuote, treeMaxDepth } from '@watchglass/go'
import { type GroupResource, resourceText, type StatusCause, StatusError } from '@watchglass/kube'

/** The object changed meanwhile, or its state does not allow the write: 409. */
export function conflict(of: GroupResource, name: string, reason: string): StatusError {
  return new StatusError('conflict', {
    code: 409,
    message: `Operation cannot be fulfilled on ${resourceText(of)} ${goQuote(name)}: ${reason}`,
    reason: 'Conflict',
    details: { name, group: of.group, kind: of.resource },
  })
}

/** The object is not the one that the client has read. */
export const modifiedReason =
  'the object has been modified; please apply your changes to the latest version and try again'

export function alreadyExists(
  of: GroupResource,
  name: string,
  {
    isBeingDeleted = false,
    isGenerated = false,
  }: { readonly isBeingDeleted?: boolean; readonly isGenerated?: boolean } = {},
): StatusError {
  const generated = ', the server was not able to generate a unique name for the object'
  const message = `${resourceText(of)} ${goQuote(name)} already exists${isGenerated ? generated : ''}`
  return new StatusError('conflict', {
    code: 409,
    message: isBeingDeleted ? `object is being deleted: ${message}` : message,
    reason: 'AlreadyExists',
    details: {
      name,
      group: of.group,
      kind: of.resource,
      ...(isGenerated ? { retryAfterSeconds: 1 } : {}),
    },
  })
}

/** An admission plugin refuses the write: 403. */
export function forbiddenWrite(
  of: GroupResource,
  name: string,
  reason: string,
  causes?: readonly StatusCause[],
): StatusError {
  return new StatusError('unauthorized', {
    code: 403,
    message: `${resourceText(of)}${name === '' ? '' : ` ${goQuote(name)}`} is forbidden: ${reason}`,
    reason: 'Forbidden',
    details: { name, group: of.group, kind: of.resource, causes },
    isByAdmission: true,
  })
}

/** Something that is neither the client's fault nor allowed went wrong. */
export function internalError(message: string): StatusError {
  return new StatusError('unsupported', {
    code: 500,
    message: `Internal error occurred: ${message}`,
    reason: 'InternalError',
    details: { causes: [{ reason: '', message }] },
  })
}

/** Characters of all errors of an object together: an error may show a whole list, and each item
 *  of the list may have such an error. */
export const errorsMaxLength: number = 4 * 1024 * 1024

export function tooLarge(message: string): StatusError {
  return new StatusError('invalid_request', {
    code: 413,
    message: `Request entity too large: ${message}`,
    reason: 'RequestEntityTooLarge',
  })
}

/** The refusal of an object that nobody could read again. */
export function tooDeep(): StatusError {
  return tooLarge(
    `the object would nest deeper than this server reads: at most ${treeMaxDepth} levels`,
  )
}

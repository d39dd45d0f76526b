/** The place of admission in a write. Whoever admits attaches here (`cluster/admission`); writes
 *  know only when it is asked: to change an object before it is completed and checked, and to
 *  refuse it afterwards, just before it is stored. */

import type { JsonObject, JsonValue } from '@watchglass/go'
import type { DeleteOptions, WriteOptions } from '../write-options.ts'
import { checkGrant } from './grants.ts'
import type { AdmissionRequest, WriteSession } from './session.ts'

/** Refuses an object that is otherwise ready to be stored. */
export type Validate = (object: JsonObject, old: JsonObject | undefined) => Promise<void>

/** The last check before an object is stored; what the server itself writes has none. */
export interface Admitted {
  readonly isDryRun: boolean
  readonly validate?: Validate | undefined
}

/** Refuses the delete of an object. */
export type ValidateDelete = (live: JsonObject) => Promise<void>

/** The admission of one write that creates or updates. */
export interface AdmittedWrite {
  readonly isDryRun: boolean
  readonly mutate: Validate
  readonly validate: Validate
}

/** The admission of a write with these options. An update that creates is a create. */
export function admissionOf(session: WriteSession, options: WriteOptions): AdmittedWrite {
  const { admission } = session.services
  const { isDryRun } = options
  const asked = (object: JsonObject, old: JsonObject | undefined): AdmissionRequest => ({
    session,
    operation: old === undefined ? 'CREATE' : 'UPDATE',
    object,
    old,
    isDryRun,
    options: optionsTree(options, old === undefined ? 'CreateOptions' : 'UpdateOptions'),
  })
  return {
    isDryRun,
    async mutate(object, old) {
      await admission.mutate(asked(object, old))
      if (session.subresource === '') checkGrant(session, object, old)
    },
    validate: (object, old) => admission.validate(asked(object, old)),
  }
}

/** The admission of a delete: whoever mutates refuses, too. */
export function deleteAdmission(session: WriteSession, options: DeleteOptions): ValidateDelete {
  const { admission } = session.services
  return async live => {
    const request: AdmissionRequest = {
      session,
      operation: 'DELETE',
      object: undefined,
      old: live,
      isDryRun: options.isDryRun,
      options: deleteOptionsTree(options),
    }
    await admission.mutate(request)
    await admission.validate(request)
  }
}

function optionsTree(options: WriteOptions, kind: string): JsonObject {
  const tree = headOf(kind)
  if (options.isDryRun) tree.set('dryRun', ['All'])
  if (options.fieldManager !== '') tree.set('fieldManager', options.fieldManager)
  const { givenFieldValidation = '' } = options
  if (givenFieldValidation !== '') tree.set('fieldValidation', givenFieldValidation)
  return tree
}

function deleteOptionsTree(options: DeleteOptions): JsonObject {
  const head = headOf('DeleteOptions')
  const members = [...(options.tree ?? [])].filter(([name]) => !head.has(name))
  return new Map<string, JsonValue>([...head, ...members])
}

function headOf(kind: string): JsonObject {
  return new Map([
    ['kind', kind],
    ['apiVersion', 'meta.k8s.io/v1'],
  ])
}

/** The writes of the API, by verb: what comes in a body is decoded, admitted and stored. */

import type { JsonObject } from '@watchglass/go'
import { bodyFormOf, decodeBuiltIn, type DecodedBody } from '../decode/body.ts'
import { copyWritten } from '../decode/written-empties.ts'
import { metadataOf, metaText } from '../metadata.ts'
import { parseWriteOptions, type WriteOptions } from '../write-options.ts'
import type { Query } from '@watchglass/kube'
import { admissionOf } from './admission.ts'
import { checkName, checkNamespace, dropRepeatedOwners } from './checks.ts'
import { decodeCustom } from './custom-body.ts'
import { owned } from './ownership.ts'
import { review } from './reviews.ts'
import { createObject, updateObject } from './store-object.ts'
import type { Written, WriteSession } from './session.ts'

/** The query and the body of a client's write. */
export interface WriteBody {
  readonly query: Query
  readonly contentType: string | undefined
  readonly body: Uint8Array
}

/** POST to a collection. */
export async function create(session: WriteSession, sent: WriteBody): Promise<Written> {
  // Upstream checks in this order; in another one for updates.
  bodyFormOf(sent.contentType, session.kind)
  const options = parseWriteOptions(sent.query, 'CreateOptions')
  const object = await decode(session, sent, options)
  session.sentName = metaText(object, 'name')
  wipeSystemFields(object)
  checkNamespace(object, session)
  session.warn(dropRepeatedOwners(object, false))
  await session.slice.giveWay()
  const managed = await owned(session, { live: undefined, object, options })
  const answer = review(session, managed)
  if (answer !== undefined) return { type: 'tree', code: 201, object: answer }
  const admission = admissionOf(session, options)
  await admission.mutate(managed, undefined)
  return createObject(session, managed, admission)
}

/** PUT of an object. */
export async function update(session: WriteSession, sent: WriteBody): Promise<Written> {
  const options = parseWriteOptions(sent.query, 'UpdateOptions')
  const object = await decode(session, sent, options)
  checkNamespace(object, session)
  checkName(object, session)
  session.warn(dropRepeatedOwners(object, false))
  const admission = admissionOf(session, options)
  return updateObject(session, {
    uid: metaText(object, 'uid'),
    mayCreate: false,
    admission,
    make: async live => {
      await session.slice.giveWay()
      const copy = copyWritten(object)
      copy.set('metadata', new Map(metadataOf(object)))
      const managed = await owned(session, { live, object: copy, options })
      await session.slice.giveWay()
      await admission.mutate(managed, live)
      return managed
    },
  })
}

/** Decodes the body of a create or an update. */
async function decode(
  session: WriteSession,
  sent: WriteBody,
  options: WriteOptions,
): Promise<JsonObject> {
  const { kind } = session
  const form = bodyFormOf(sent.contentType, kind)
  const request = { body: sent.body, form, fieldValidation: options.fieldValidation }
  const { type } = kind
  const decoded: DecodedBody =
    type === undefined
      ? await decodeCustom(session, request)
      : await decodeBuiltIn({ ...kind, type }, request, session.slice)
  session.warn(decoded.warnings)
  return decoded.object
}

/** Members that clients may not set in a new object. */
function wipeSystemFields(object: JsonObject): void {
  const metadata = metadataOf(object)
  for (const name of [
    'creationTimestamp',
    'uid',
    'deletionTimestamp',
    'deletionGracePeriodSeconds',
    'selfLink',
  ]) {
    metadata.delete(name)
  }
}

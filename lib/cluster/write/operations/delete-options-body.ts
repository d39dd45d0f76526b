/** The options of a delete: in its body if it has one, in its query otherwise. */

import { NotExact } from '../../../codec/not-exact.ts'
import { jsonFromProtobuf } from '../../../codec/transcode/transcode.ts'
import { badRequest } from '../../../kube/status.ts'
import { bodyFormOf, parseBody } from '../decode/body.ts'
import { jsonBody } from '../decode/documents.ts'
import { DecodeError, decodeTyped } from '../decode/typed-decoder.ts'
import {
  type DeleteOptions,
  deleteOptionsFromQuery,
  deleteOptionsFromTree,
} from '../write-options.ts'
import type { WriteSession } from './session.ts'
import type { WriteBody } from './write.ts'

export async function readDeleteOptions(
  { kind, slice }: WriteSession,
  { query, contentType, body }: WriteBody,
): Promise<DeleteOptions> {
  if (body.length === 0) return deleteOptionsFromQuery(query)
  const type = kind.schema.messageType('meta/v1.DeleteOptions')
  const form = bodyFormOf(contentType, { type })
  try {
    let document
    if (form === 'protobuf') {
      const json = jsonFromProtobuf(body, 0, body.length, kind.schema)
      if (json instanceof NotExact) throw new DecodeError(json.reason)
      document = jsonBody(json)
    } else document = (await parseBody(body, form, slice)).document
    return deleteOptionsFromTree(decodeTyped(document, type).object)
  } catch (error) {
    if (error instanceof DecodeError) throw badRequest(error.message)
    throw error
  }
}

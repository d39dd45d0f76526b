/** One write, by its verb and subresource. */

import type { Query } from '../../request/request.ts'
import type { Verb } from '../../request/request.ts'
import { needsUpstream } from '../../status.ts'
import { deleteObject } from './delete-object.ts'
import { readDeleteOptions } from './delete-options-body.ts'
import { patch } from './patch.ts'
import type { Written, WriteSession } from './session.ts'
import { create, update } from './write.ts'

/** What a client asks for. */
export interface WriteRequest {
  readonly verb: Verb
  readonly query: Query
  readonly contentType: string | undefined
  readonly readBody: () => Promise<Uint8Array>
}

/** Does the write; refusals are thrown. */
export async function runWrite(session: WriteSession, request: WriteRequest): Promise<Written> {
  const { verb, query, contentType, readBody } = request
  switch (verb) {
    case 'create':
      return create(session, { query, contentType, body: await readBody() })
    case 'update':
      return update(session, { query, contentType, body: await readBody() })
    case 'patch':
      return patch(session, { query, contentType, body: await readBody() })
    case 'delete': {
      const options = readDeleteOptions(session, { query, contentType, body: await readBody() })
      return deleteObject(session, options)
    }
    default:
      throw needsUpstream(session.resource, verb)
  }
}

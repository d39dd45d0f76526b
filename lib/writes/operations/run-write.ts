/** One write, by its verb and subresource. */

import { needsUpstream, type Query, type Verb } from '@watchglass/kube'
import { deleteAdmission } from './admission.ts'
import { bind } from './binding.ts'
import { metaText } from '../metadata.ts'
import { deleteDefinition, isDefinition, settleDefinition, settleOwner } from './definitions.ts'
import { deleteObject } from './delete-object.ts'
import { readDeleteOptions } from './delete-options-body.ts'
import { evict } from './eviction.ts'
import { patch } from './patch.ts'
import { patchScale, updateScale } from './scale.ts'
import { forbiddenWrite } from '../refusals.ts'
import type { Written, WriteSession } from './session.ts'
import { requestToken } from './token-request.ts'
import { create, update, type WriteBody } from './write.ts'

/** The write that a client asks for. */
export interface WriteRequest {
  readonly verb: Verb
  readonly query: Query
  readonly contentType: string | undefined
  readonly readBody: () => Promise<Uint8Array>
}

/** Does the write, and what the server's own controllers would do after it; refusals are thrown. */
export async function runWrite(session: WriteSession, request: WriteRequest): Promise<Written> {
  const written = await doWrite(session, request)
  if (request.query.all('dryRun').length > 0) return written
  if (isDefinition(session)) await settleDefinition(session, nameOf(session, written))
  else if (request.verb !== 'create') await settleOwner(session)
  return written
}

/** The name of the written object: a create has it in its body only. */
function nameOf(session: WriteSession, written: Written): string {
  if (session.name !== '' || written.type !== 'object') return session.name
  return metaText(session.treeOf(written.entry), 'name')
}

function isBindings({ group, resource }: WriteSession['resource']): boolean {
  return group === '' && resource === 'bindings'
}

async function doWrite(session: WriteSession, request: WriteRequest): Promise<Written> {
  const { verb, query, contentType, readBody } = request
  const { resource, subresource } = session
  const sent = async (): Promise<WriteBody> => ({ query, contentType, body: await readBody() })
  if (subresource === 'binding' || isBindings(resource)) return bind(session, await sent())
  if (subresource === 'token') return requestToken(session, await sent())
  if (subresource === 'eviction') return evict(session, await sent())
  if (subresource === 'scale' && verb === 'update') return updateScale(session, await sent())
  if (subresource === 'scale' && verb === 'patch') return patchScale(session, await sent())
  switch (verb) {
    case 'create':
      return create(session, await sent())
    case 'update':
      return update(session, await sent())
    case 'patch':
      return patch(session, await sent())
    case 'delete': {
      const options = await readDeleteOptions(session, await sent())
      const validate = deleteAdmission(session, options)
      refuseSystemClass(session)
      return isDefinition(session)
        ? deleteDefinition(session, options, validate)
        : deleteObject(session, options, validate)
    }
    case '':
    case 'deletecollection':
    case 'get':
    case 'list':
    case 'proxy':
    case 'watch':
      throw needsUpstream(resource, verb)
  }
}

const systemClasses = ['system-node-critical', 'system-cluster-critical']

/** The priorities of a cluster's own pods stay; only where all are deleted they go, too. */
function refuseSystemClass({ kind, name }: WriteSession): void {
  if (kind.group !== 'scheduling.k8s.io' || kind.resource !== 'priorityclasses') return
  if (!systemClasses.includes(name)) return
  throw forbiddenWrite(kind, name, 'this is a system priority class and cannot be deleted')
}

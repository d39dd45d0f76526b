/** DELETE of a collection: what a list would show is deleted, each object as if it were deleted
 *  alone, and then shown as it was. */

import { Slice } from '@watchglass/base'
import { type MediaType, runsOfEntries } from '@watchglass/codec'
import {
  listMeta,
  nameOfKey,
  namespaceOfKey,
  pageEntries,
  planRead,
  type ResourceRoute,
  serviceUnavailable,
  StatusError,
} from '@watchglass/kube'
import {
  deleteAdmission,
  deleteObject,
  readDeleteOptions,
  warningsOfDelete,
  type WriteSession,
} from '@watchglass/writes'
import { Snapshot } from '@watchglass/store'
import {
  answerForm,
  beginList,
  contentsFor,
  readPage,
  type ReadServices,
  type RequestContext,
  sendList,
} from '@watchglass/cache'

export interface CollectionDelete {
  readonly route: ResourceRoute
  readonly session: WriteSession
  readonly mediaType: MediaType
  readonly readBody: () => Promise<Uint8Array>
  /** The form of what `readBody` returns. */
  readonly contentType: string | undefined
}

/** Deletes and answers; refusals are thrown. */
export async function answerDeleteCollection(
  context: RequestContext,
  { route, session, mediaType, readBody, contentType }: CollectionDelete,
  options: ReadServices,
): Promise<void> {
  const { target } = context
  const { tokenEncryption: encryption, hasShards } = options
  const { query } = target
  const asList = { ...route, verb: 'list' } as const
  const planned = planRead(asList, query, { encryption })
  const body = await readBody()
  const deleteOptions = await readDeleteOptions(session, { query, contentType, body })
  context.reply.warnings = [
    ...route.resource.warnings,
    ...warningsOfDelete(session.kind, deleteOptions),
  ]
  // The storage finds what is wrong with a shard, after the handler has read everything.
  const plan = hasShards === true ? planRead(asList, query, { encryption, hasShards }) : planned
  if (plan.type !== 'list') return
  const form = answerForm(context, plan, mediaType, options)
  const found = await contentsFor(context, { plan, timeoutMs: undefined }, options)
  if (!(found instanceof Snapshot)) {
    throw new StatusError('not_ready', serviceUnavailable('the collection cannot be listed now', 1))
  }
  const page = await readPage(context, { plan, snapshot: found, pace: options.clock })
  if (page === undefined) return
  const entries = [...pageEntries(page)]
  await session.conversions?.prepare(plan.resource, entries, session)
  const slice = new Slice(options.clock)
  const validate = deleteAdmission(session, deleteOptions)
  for (const { key } of entries) {
    const namespace = namespaceOfKey(key, plan.keyspace)
    const one = session.of(namespace, nameOfKey(key))
    try {
      await deleteObject(one, deleteOptions, validate)
    } catch (error) {
      if (!(error instanceof StatusError) || error.status.code !== 404) throw error
    }
    if (slice.isOver) await slice.next()
  }
  const meta = listMeta(plan, page, options.tokenEncryption)
  const contents = { meta, runs: runsOfEntries(entries), isMirrored: false }
  const list = { ...form, resource: plan.resource, mediaType, contents, pace: options.clock }
  await sendList(context, list, await beginList(context, list, options), options)
}

/** DELETE of a collection: what a list would show is deleted, each object as if it were deleted
 *  alone, and then shown as it was. */

import { Slice } from '../../base/slice.ts'
import type { MediaType } from '../../codec/negotiate/negotiate.ts'
import { runsOfEntries } from '../../codec/output/segments.ts'
import { listMeta, pageEntries } from '../../kube/list.ts'
import { planRead } from '../../kube/read-plan.ts'
import type { ResourceRoute } from '../../kube/request/routes.ts'
import { nameOfKey, namespaceOfKey } from '../../kube/selectors/filter.ts'
import { serviceUnavailable, StatusError } from '../../kube/status.ts'
import { deleteAdmission } from '../write/operations/admission.ts'
import { deleteObject, warningsOfDelete } from '../write/operations/delete-object.ts'
import { readDeleteOptions } from '../write/operations/delete-options-body.ts'
import type { WriteSession } from '../write/operations/session.ts'
import { Snapshot } from '../../store/snapshot.ts'
import type { ReadServices } from '../../http/handler/answer-read.ts'
import { beginList, readPage, sendList } from '../../http/read/list.ts'
import { contentsFor } from '../../http/read/planned-read.ts'
import { answerForm } from '../../http/exchange/answer-form.ts'
import type { RequestContext } from '../../http/exchange/request-context.ts'

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

/** The questions that `check` asks a server of the upstream, with our own credentials. */

import { CacheError } from '@watchglass/base'
import type { UpstreamCaller, UpstreamCall } from '@watchglass/cache'
import { type ResourceAttributes, reviewAnswer, selfReview, selfReviewPath } from '@watchglass/kube'
import { load } from '../../../compose/loaded-code.ts'

export interface CheckAnswer {
  readonly path: string
  readonly code: number
  readonly body: Buffer
}

export interface GetOptions {
  readonly accept?: string
  readonly maxBytes?: number
}

export interface QuestionOptions {
  /** The time for an answer. */
  readonly maxMs: number
  readonly signal: AbortSignal
}

const answerMaxBytes = 16 * 1024 * 1024

export class UpstreamQuestions {
  readonly #upstream: UpstreamCaller
  readonly #options: QuestionOptions

  constructor(upstream: UpstreamCaller, options: QuestionOptions) {
    this.#upstream = upstream
    this.#options = options
  }

  /** An answer with any code. Fails if there is none. */
  get(
    path: string,
    { accept = 'application/json', maxBytes = answerMaxBytes }: GetOptions = {},
  ): Promise<CheckAnswer> {
    return this.#call({ method: 'GET', path, headers: { accept }, maxBytes })
  }

  /** Whether our account may do something in a namespace, or in all of them. Fails where the server
   *  knows no access reviews, as some aggregated ones. */
  async may(
    asked: Pick<ResourceAttributes, 'verb' | 'group' | 'resource' | 'namespace'>,
  ): Promise<boolean> {
    const none = { version: '', subresource: '', name: '', fields: [], labels: [] }
    const answer = await this.#call({
      method: 'POST',
      path: selfReviewPath,
      headers: { accept: 'application/json', 'content-type': 'application/json' },
      body: Buffer.from(selfReview({ ...none, ...asked })),
    })
    const review = answer.code < 300 ? reviewAnswer(answer.body.toString()) : undefined
    if (review === undefined) throw unexpected(answer)
    return review.isAllowed
  }

  async #call(call: Omit<UpstreamCall, 'signal'>): Promise<CheckAnswer> {
    const { maxMs, signal } = this.#options
    const late = AbortSignal.timeout(maxMs)
    try {
      const limited = { ...call, signal: AbortSignal.any([signal, late]) }
      const { code, body } = await this.#upstream.call(limited, 'ourselves')
      return { path: call.path, code, body: Buffer.from(body) }
    } catch (error) {
      if (late.aborted) {
        const text = `${call.path} has no answer within ${maxMs / 1000} s`
        throw new CacheError('upstream_failed', text, { cause: error })
      }
      const { reasonFor } = await load.upstreamFailure()
      throw new CacheError('upstream_failed', reasonFor(error), { cause: error })
    }
  }
}

/** The document that an answer is. Fails if it is a refusal. */
export function documentIn(answer: CheckAnswer): unknown {
  if (answer.code < 300) return JSON.parse(answer.body.toString())
  throw unexpected(answer)
}

function unexpected({ path, code }: CheckAnswer): CacheError {
  return new CacheError('upstream_failed', `${path} is answered with ${code}${hintOf(path, code)}`)
}

function hintOf(path: string, code: number): string {
  if (code === 401) return ': it does not know our token or certificate'
  if (code !== 403) return ''
  const role = path === selfReviewPath ? 'system:basic-user' : 'system:discovery'
  return `: bind our account to the ClusterRole ${role}, as all accounts are by default`
}

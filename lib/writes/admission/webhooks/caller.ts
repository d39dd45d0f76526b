/** The way to webhooks: an edge, which is passed in. */

import type { HookClient } from './hooks.ts'

export interface HookCall {
  readonly client: HookClient
  /** Parameters of the query. */
  readonly query: string
  /** In pieces, of which calls to several webhooks share the long one. */
  readonly body: readonly Buffer[]
  readonly timeoutMs: number
  readonly answerMaxBytes: number
}

export interface HookReply {
  readonly status: number
  readonly body: Buffer
}

/** A call that brought no answer, in the words of a Go client. */
export class CallFailure extends Error {}

/** Posts JSON to webhooks. */
export interface HookCaller {
  /** Throws a CallFailure. */
  post(call: HookCall, signal: AbortSignal): Promise<HookReply>
}

/** A caller that reaches nobody: for services without a network. */
export const noCaller: HookCaller = {
  post: () =>
    Promise.reject(new CallFailure('failed to call webhook: no webhooks are called here')),
}

/** The complaint about the status of an answer; undefined for one of success. */
export function statusProblem(status: number): string | undefined {
  if (status >= 200 && status < 300) return undefined
  switch (status) {
    case 400:
      return 'the server rejected our request for an unknown reason'
    case 401:
      return 'the server has asked for the client to provide credentials'
    case 403:
      return 'unknown'
    case 404:
      return 'the server could not find the requested resource'
    case 405:
      return 'the server does not allow this method on the requested resource'
    case 429:
      return 'the server has received too many requests and has asked us to try again later'
    case 503:
      return 'the server is currently unable to handle the request'
    case 504:
      return 'the server was unable to return a response in the time allotted, but may still be processing the request'
  }
  return status >= 500
    ? 'an error on the server ("unknown") has prevented the request from succeeding'
    : `the server responded with the status code ${status} but did not return more details`
}

/** Decides who may send which request: asked once for each, before any byte of its response. In
 *  front of an upstream, or beside one, the upstream is asked (`authorizer.ts`); where there is
 *  none whoever attaches may decide by the rules that are mirrored. */

import type { Attributes, Identity, PassReason, Status } from '@watchglass/kube'
import type { Grant, Senders } from '../request/grant.ts'
import type { HttpRequest, ResponseHeaders } from '../server/http-request.ts'

export type Verdict =
  | (Classified & { readonly type: 'granted'; readonly grant: Grant; readonly reason?: string })
  | { readonly type: 'pass'; readonly reason: PassReason }
  | (Refused & Classified & { readonly type: 'refuse'; readonly status: Status })

interface Classified {
  /** Headers of the response that name what the request was classified as. */
  readonly headers?: ResponseHeaders | undefined
}

/** Facts about a refusal for the audit log. */
interface Refused {
  readonly reason?: string
  /** The user in whose name it was asked. */
  readonly impersonated?: Identity | undefined
}

export interface AccessGate extends Senders {
  /** Returns at once if the decision is known. Never fails. */
  authorize(request: HttpRequest, attributes: Attributes): Verdict | Promise<Verdict>
  /** The sender shows a certificate that is nobody's, and no other credentials, and nobody else is
   *  there to refuse that. Asked before anything else of a request. */
  isRefused(request: HttpRequest): boolean
}

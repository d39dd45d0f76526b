/** The user of a request, as limits and the audit log ask; lib/cache/http/auth answers. */

import type { Identity } from '@watchglass/kube'
import type { HttpRequest } from '../server/http-request.ts'

/** The permission of a request. */
export interface Grant {
  /** The user whose limits it counts against: see `Senders.userOf`. */
  user(): string
  /** Asks the upstream for the user's name in the background. */
  learnName(): void
  /** The user, for the audit log; undefined if the upstream does not say. */
  identity(): Promise<Identity | undefined>
  /** The one who asks in the name of that user; undefined if it is the user. */
  readonly impersonator?: Identity | undefined
  /** Rechecks an open watch: `end` is called once when it must end. Call the returned function when
   *  the watch has ended. */
  watch(end: () => void): () => void
}

/** Names the senders of requests that have no permission yet, or never get one here. */
export interface Senders {
  /** The user whose limits the request counts against: all of a user's tokens count as one once
   *  their name is known. */
  userOf(request: HttpRequest): string
  /** Asks the upstream for the sender's name; undefined if there is nothing to ask. */
  learnName(request: HttpRequest): Promise<unknown> | undefined
  /** Undefined if the upstream does not know them. */
  identityOfSender(request: HttpRequest): Promise<Identity | undefined>
}

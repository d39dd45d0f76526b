/** Options of the client's requests. */

import {
  type ConfigurationOptions,
  type ObservableMiddleware,
  setHeaderMiddleware,
} from '@kubernetes/client-node'
import { patient } from '../../support/patience.ts'

/** The client's fetch never ends when a connection is cut within a body whose length was told, and
 *  so each request has a timeout. */
const timeoutMs = patient(5_000)

/** For requests whose answers are JSON. */
export function withTimeout(): ConfigurationOptions {
  const accept = setHeaderMiddleware('Accept', 'application/json')
  const middleware: ObservableMiddleware = {
    ...accept,
    pre(request) {
      request.setSignal(AbortSignal.timeout(timeoutMs))
      return accept.pre(request)
    },
  }
  return { middleware: [middleware], middlewareMergeStrategy: 'append' }
}

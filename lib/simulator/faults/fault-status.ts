/** The answers of requests that fail on purpose, as kube-apiserver words them. */

import { serviceUnavailable, type Status, tooManyRequests } from '@watchglass/kube'
import type { Effect } from './rule.ts'

type ErrorEffect = Extract<Effect, { readonly type: 'error' }>

export function errorOfFault({ code, retryAfterSeconds }: ErrorEffect): Status {
  switch (code) {
    case 429:
      return tooManyRequests(
        'The server has received too many requests and has asked us to try again later',
        retryAfterSeconds,
      ).status
    case 500:
      return {
        code,
        message: 'Internal error occurred: a fault on purpose',
        reason: 'InternalError',
      }
    case 503:
      return serviceUnavailable(
        'The server is currently unable to handle the request',
        retryAfterSeconds,
      )
    case 504:
      return {
        code,
        message: 'Timeout: request did not complete within the allotted timeout',
        reason: 'Timeout',
        details: { retryAfterSeconds },
      }
  }
}

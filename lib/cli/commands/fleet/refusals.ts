/** Answers of a fleet in place of a cluster: as Status bodies, which kubectl shows. They say
 *  nothing of why a cluster is not there: whoever asks is not known yet. */

import { type HttpRequest, sendWhole } from '@watchglass/cache'
import {
  serviceUnavailable,
  type Status,
  statusJson,
  tooManyRequests,
  unauthorized,
} from '@watchglass/kube'

export function sendStatus(request: HttpRequest, status: Status): void {
  const retryAfter = status.details?.retryAfterSeconds
  const headers = {
    'content-type': 'application/json',
    'cache-control': 'no-cache, private',
    ...(retryAfter === undefined ? {} : { 'retry-after': String(retryAfter) }),
  }
  sendWhole(request, { status: status.code, headers }, Buffer.from(statusJson(status)))
}

export function refuseUnknown(request: HttpRequest, name: string): void {
  sendStatus(request, {
    code: 404,
    message: `there is no cluster ${JSON.stringify(name)} here`,
    reason: 'NotFound',
    details: {},
  })
}

/** In the words of kube-apiserver for credentials of nobody. Anonymous users hear them, too, while
 *  the cluster is not awake: whether its rules allow them anything is in the cluster. */
export function refuseStranger(request: HttpRequest): void {
  sendStatus(request, unauthorized)
}

export function refuseUnavailable(request: HttpRequest, retryAfterSeconds: number): void {
  sendStatus(request, serviceUnavailable('the cluster cannot be served now', retryAfterSeconds))
}

/** More requests wait for the start of the cluster than are kept. */
export function refuseCrowd(request: HttpRequest): void {
  const { status } = tooManyRequests('too many requests wait for the start of the cluster', 1)
  sendStatus(request, status)
}

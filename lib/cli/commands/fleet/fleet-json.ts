/** Answers of the fleet itself: texts and JSON for people and programs. */

import { type HttpRequest, sendWhole } from '@watchglass/cache'

export function sendText(request: HttpRequest, status: number, body: string): void {
  send(request, status, { type: 'text/plain; charset=utf-8', body })
}

export function sendJson(request: HttpRequest, value: object): void {
  const body = `${JSON.stringify(value, null, 2)}\n`
  send(request, 200, { type: 'application/json', body })
}

/** Sends a browser to an address beside that of the request. */
export function redirect(request: HttpRequest, location: string): void {
  sendWhole(request, { status: 307, headers: { location } }, Buffer.from(''))
}

function send(
  request: HttpRequest,
  status: number,
  { type, body }: { readonly type: string; readonly body: string },
): void {
  const headers = {
    'content-type': type,
    'cache-control': 'no-cache, private',
    'x-content-type-options': 'nosniff',
  }
  sendWhole(request, { status, headers }, Buffer.from(body))
}

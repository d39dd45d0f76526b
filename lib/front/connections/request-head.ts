/** Writes the head of a request to the upstream. */

import { badRequest } from '../../kube/status.ts'

export interface RequestHead {
  /** To be sent as latin1. */
  readonly text: string
  /** The Content-Length of the body; undefined if it is sent in chunks, or if there is none. */
  readonly bodyBytes: number | undefined
}

export interface HeadParts {
  readonly method: string
  readonly path: string
  /** Names and values alternating. */
  readonly headers: readonly string[]
  readonly host: string
  readonly hasBody: boolean
}

const token = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/
const notOfAPath = /[^\x21-\x7e\x80-\xff]/
const notOfAValue = /[^\t\x20-\x7e\x80-\xff]/

/** Methods whose requests usually have a body: one without a body has Content-Length 0 (RFC 9110, 8.6). */
const bodyMethods: ReadonlySet<string> = new Set(['POST', 'PUT', 'PATCH'])

/** Fails with a Status for a head that cannot be sent unchanged: a character above U+00FF would become another one on the wire, such as a
 *  line break. */
export function requestHead({ method, path, headers, host, hasBody }: HeadParts): RequestHead {
  if (!token.test(method) || notOfAPath.test(path)) throw unfit()
  let text = `${method} ${path} HTTP/1.1\r\nHost: ${host}\r\n`
  let bodyBytes: number | undefined
  for (let i = 0; i + 1 < headers.length; i += 2) {
    const name = headers[i] ?? ''
    const value = headers[i + 1] ?? ''
    if (!token.test(name) || notOfAValue.test(value)) throw unfit()
    if (name.length === contentLength.length && name.toLowerCase() === contentLength) {
      if (bodyBytes !== undefined || !/^\d{1,15}$/.test(value)) throw unfit()
      bodyBytes = Number(value)
    }
    text += `${name}: ${value}\r\n`
  }
  if (hasBody && bodyBytes === undefined) text += 'Transfer-Encoding: chunked\r\n'
  else if (!hasBody && bodyMethods.has(method)) text += 'Content-Length: 0\r\n'
  return { text: `${text}\r\n`, bodyBytes }
}

const contentLength = 'content-length'

/** The end of a chunked body. */
export function lastChunk(trailers: readonly string[]): string {
  let text = '0\r\n'
  for (let i = 0; i + 1 < trailers.length; i += 2) {
    const name = trailers[i] ?? ''
    const value = trailers[i + 1] ?? ''
    if (!token.test(name) || notOfAValue.test(value)) throw unfit()
    text += `${name}: ${value}\r\n`
  }
  return `${text}\r\n`
}

function unfit(): Error {
  return badRequest('the request cannot be passed on as it is')
}

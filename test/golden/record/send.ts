/** Requests to the server that is recorded, and its answers to the byte. Its certificate is made
 *  at its start and not verified: the server is a child of this process, on loopback. */

import { Agent, request as httpsRequest } from 'node:https'
import type { ClientRequest, IncomingMessage } from 'node:http'
import type { Headers, RecordedResponse } from '../load.ts'
import { type User, users } from './users.ts'

export interface Sender {
  readonly port: number
}

export interface Sent {
  readonly path: string
  readonly method?: string | undefined
  /** No header when undefined. */
  readonly accept?: string | undefined
  readonly user?: User | undefined
  readonly headers?: Headers | undefined
  readonly body?: Buffer | undefined
}

export interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly bytes: Buffer
  /** Headers as they were sent. */
  readonly sent: Headers
  readonly startMs: number
  readonly endMs: number
}

/** A watch may be open for long; anything else has been forgotten by then. */
const answerMaxMs = 90_000

const agent = new Agent({ keepAlive: true, rejectUnauthorized: false })

/** Sends a request and reads the whole answer. */
export function send(server: Sender, sent: Sent): Promise<Answer> {
  const startMs = Date.now()
  return new Promise((resolve, reject) => {
    const { request, headers } = open(server, sent, agent)
    request.setTimeout(answerMaxMs, () => {
      request.destroy(new Error(`${sent.method ?? 'GET'} ${sent.path}: no answer in time`))
    })
    request.on('error', reject)
    request.on('response', response => {
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.on('error', reject)
      response.on('end', () => {
        resolve({
          status: response.statusCode ?? 0,
          headers: keptHeaders(response),
          bytes: Buffer.concat(chunks),
          sent: headers,
          startMs,
          endMs: Date.now(),
        })
      })
    })
    request.end(sent.body)
  })
}

/** A request on its way; of `agent`'s connections, or on one of its own. */
export function open(
  server: Sender,
  { path, method = 'GET', accept, user = 'admin', headers: more, body }: Sent,
  agent: Agent | false,
): { request: ClientRequest; headers: Headers } {
  const token = users[user]
  const headers: Headers = {
    Host: `127.0.0.1:${server.port}`,
    'User-Agent': 'golden-recorder/1.0',
    ...(token === null ? {} : { Authorization: `Bearer ${token}` }),
    ...(accept === undefined ? {} : { Accept: accept }),
    ...more,
    ...(body === undefined ? {} : { 'Content-Length': String(body.length) }),
  }
  const request = httpsRequest({
    host: '127.0.0.1',
    port: server.port,
    path,
    method,
    headers: headers as Record<string, string | string[]>,
    agent,
    rejectUnauthorized: false,
  })
  return { request, headers }
}

/** Headers without those that differ with each answer or connection. */
export function keptHeaders({ rawHeaders }: IncomingMessage): Headers {
  const kept: Record<string, string | string[]> = {}
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i]!.toLowerCase()
    if (/^(?:date|audit-id|connection|keep-alive)$|^x-kubernetes-pf-/.test(name)) continue
    const value = Buffer.from(rawHeaders[i + 1]!, 'latin1').toString('utf8')
    const before = kept[name]
    kept[name] = before === undefined ? value : [before, value].flat()
  }
  return kept
}

/** As text where the bytes are UTF-8, else in base64. */
export function bodyOf(bytes: Buffer): Pick<RecordedResponse, 'body' | 'body_base64'> {
  const text = bytes.toString('utf8')
  const isText = Buffer.from(text, 'utf8').equals(bytes) && !text.includes('\0')
  return isText ? { body: text } : { body_base64: bytes.toString('base64') }
}

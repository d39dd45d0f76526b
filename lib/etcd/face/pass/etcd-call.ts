/** A call of our own on the connections that calls pass over: one message each way, with no credentials but those of the connection. */

import { CacheError } from '../../../base/errors.ts'
import { failureFromStatus } from '../../grpc/failures.ts'
import type { EtcdSessions } from './etcd-sessions.ts'
import { type Message, MessageReader, messagePrefix } from '../listen/message-reader.ts'

const answerMaxBytes = 4 * 1024 * 1024

/** The answer's bytes. Fails as etcd does, with `source_failed` when it does not answer. */
export async function callEtcd(
  sessions: EtcdSessions,
  path: string,
  request: Buffer,
): Promise<Buffer> {
  const session = sessions.ready('calls') ?? (await sessions.connect('calls'))
  return new Promise((resolve, reject) => {
    const stream = session.request({
      ':method': 'POST',
      ':path': path,
      'content-type': 'application/grpc',
      te: 'trailers',
    })
    const reader = new MessageReader(answerMaxBytes)
    let code = 14
    let details = 'the connection was lost'
    const noteStatus = (headers: NodeJS.Dict<string | string[]>): void => {
      if (headers['grpc-status'] === undefined) return
      code = Number(headers['grpc-status'])
      details = decodeURIComponent(String(headers['grpc-message'] ?? ''))
    }
    stream.on('response', noteStatus)
    stream.on('trailers', noteStatus)
    stream.on('data', (chunk: Buffer) => reader.push(chunk))
    stream.on('error', error => (details = error.message))
    stream.on('close', () => {
      const message = reader.next()
      if (code !== 0) reject(failureFromStatus({ code, details }, 'that is asked'))
      else if (isMessage(message)) resolve(message.bytes)
      else reject(new CacheError('source_failed', `etcd has answered ${path} with no message`))
    })
    stream.write(messagePrefix(request.length))
    stream.end(request)
  })
}

function isMessage(next: Message | number | undefined): next is Message {
  return typeof next === 'object'
}

/** A call of our own to etcd: one message each way. */

import { CacheError } from '@watchglass/base'
import { failureFromStatus, type Message, messagePrefix, MessageReader } from '@watchglass/etcd'
import type { EtcdSessions } from './etcd-sessions.ts'
import { openEtcdStream } from './etcd-stream.ts'

const answerMaxBytes = 4 * 1024 * 1024

/** The answer's bytes. Fails as etcd does, with `source_failed` when it does not answer. */
export async function callEtcd(
  sessions: EtcdSessions,
  path: string,
  request: Buffer,
): Promise<Buffer> {
  const stream = await openEtcdStream(sessions, path)
  const reader = new MessageReader(answerMaxBytes)
  return new Promise((resolve, reject) => {
    let message: Message | number | undefined
    stream.onData(chunk => {
      reader.push(chunk)
      message ??= reader.next()
      // The rest is of no use.
      if (typeof message === 'number') stream.cancel()
    })
    stream.onEnd(status => {
      if (status.code !== 0) reject(failureFromStatus(status, path))
      else if (typeof message === 'object') resolve(message.bytes)
      else reject(new CacheError('source_failed', `etcd has answered ${path} with no message`))
    })
    stream.write(messagePrefix(request.length))
    stream.write(request)
    stream.end()
  })
}

/** One object of an object store, by an address that may be signed: a GET, and nothing of S3's own
 *  protocol. */

import { once } from 'node:events'
import { request as requestPlain, type IncomingMessage } from 'node:http'
import { request as requestSecure } from 'node:https'
import { invalid } from '../../options/invalid.ts'

/** A store that sends nothing for so long is not waited for. */
const silenceMaxMs = 30_000

/** The body of the answer. Fails with `invalid_request` for any other answer than 200: the object
 *  is where the address says, so nobody is followed elsewhere. */
export async function getObject(url: URL, signal: AbortSignal): Promise<IncomingMessage> {
  const request = url.protocol === 'https:' ? requestSecure : requestPlain
  const asking = request(url, { signal, timeout: silenceMaxMs, agent: false })
  asking.on('timeout', () => asking.destroy(new Error(`no byte came for ${silenceMaxMs / 1000} s`)))
  asking.end()
  const [answer] = (await once(asking, 'response')) as [IncomingMessage]
  // From here on failures are those of the body.
  asking.on('error', () => {})
  const { statusCode } = answer
  if (statusCode === 200) return answer
  answer.destroy()
  throw invalid(`the store answers ${statusCode}`)
}

/** A live view over plain HTTP, document by document. */

import * as http from 'node:http'
import type { Test } from 'tap'

export type LiveDocument = Readonly<Record<string, unknown>> & { readonly type: string }

export interface LiveLines {
  readonly status: number
  readonly headers: http.IncomingHttpHeaders
  /** The next document; undefined when the answer has ended. */
  next(): Promise<LiveDocument | undefined>
  /** The next document that is no bookmark, and for which `holds`. */
  until(holds: (document: LiveDocument) => boolean): Promise<LiveDocument>
  leave(): void
}

/** Opens it; it is left with the test. */
export function openLive(
  t: Test,
  port: number,
  path: string,
  headers: http.OutgoingHttpHeaders = {},
): Promise<LiveLines> {
  return new Promise((resolve, reject) => {
    const request = http.get({ host: '127.0.0.1', port, path, headers }, response => {
      const documents = documentsIn(response)
      const next = async (): Promise<LiveDocument | undefined> => {
        const { done, value } = await documents.next()
        return done === true ? undefined : value
      }
      resolve({
        status: response.statusCode ?? 0,
        headers: response.headers,
        next,
        async until(holds) {
          for (;;) {
            const document = await next()
            if (document === undefined) throw new Error('the live view has ended')
            if (document.type !== 'BOOKMARK' && holds(document)) return document
          }
        },
        leave: () => request.destroy(),
      })
    })
    request.on('error', reject)
    t.teardown(() => request.destroy())
  })
}

async function* documentsIn(
  response: http.IncomingMessage,
): AsyncGenerator<LiveDocument, undefined> {
  let rest = ''
  response.setEncoding('utf8')
  try {
    for await (const text of response as AsyncIterable<string>) {
      const lines = `${rest}${text}`.split('\n')
      rest = lines.pop() ?? ''
      for (const line of lines) {
        const json = line.replace(/^data: /, '')
        if (json !== '') yield JSON.parse(json) as LiveDocument
      }
    }
  } catch {
    // The test has left.
  }
  return undefined
}

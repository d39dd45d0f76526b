/** A collector for tests: takes traces by OTLP over HTTP in JSON, and keeps what came. */

import * as http from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import type { Test } from 'tap'

export interface ReceivedSpan {
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId?: string
  readonly name: string
  readonly startTimeUnixNano: string
  readonly endTimeUnixNano: string
  readonly attributes: readonly {
    readonly key: string
    readonly value: { readonly stringValue?: string; readonly intValue?: number }
  }[]
}

interface Received {
  readonly resourceSpans: readonly {
    readonly resource: Pick<ReceivedSpan, 'attributes'>
    readonly scopeSpans: readonly { readonly spans: readonly ReceivedSpan[] }[]
  }[]
}

export interface OtlpReceiver {
  readonly endpoint: URL
  readonly paths: readonly string[]
  readonly spans: readonly ReceivedSpan[]
  readonly services: readonly unknown[]
}

/** Starts it; it ends with the test. */
export async function startOtlpReceiver(t: Pick<Test, 'teardown'>): Promise<OtlpReceiver> {
  const spans: ReceivedSpan[] = []
  const paths: string[] = []
  const services: unknown[] = []
  const server = http.createServer((request, response) => {
    void text(request).then(body => {
      paths.push(`${request.method} ${request.url}`)
      if (request.url !== '/v1/traces') {
        response.writeHead(404).end()
        return
      }
      for (const { resource, scopeSpans } of (JSON.parse(body) as Received).resourceSpans) {
        const name = resource.attributes.find(({ key }) => key === 'service.name')
        services.push(name?.value.stringValue)
        for (const scope of scopeSpans) spans.push(...scope.spans)
      }
      response.setHeader('content-type', 'application/json')
      response.end('{}')
    })
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return { endpoint: new URL(`http://127.0.0.1:${port}`), paths, spans, services }
}

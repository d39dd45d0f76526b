/** Makes objects and changes them over the API, so that any server has the same events. */

import { Pool } from 'undici'

/** The objects, and the revision at which none of them had changed yet. */
export interface Made {
  readonly namespace: string
  readonly revision: string
}

const writersMax = 48
const text = 'a value as long as many are, so that an event has some hundred bytes. '.repeat(4)

export async function makeEvents(
  url: string,
  { objects, events }: { readonly objects: number; readonly events: number },
): Promise<Made> {
  const pool = new Pool(url, {
    connections: writersMax,
    connect: { rejectUnauthorized: false },
  })
  const namespace = `resume-${Date.now().toString(36)}`
  const path = `/api/v1/namespaces/${namespace}/configmaps`
  const send = async (method: 'POST' | 'PUT', at: string, object: object): Promise<unknown> => {
    const headers = { 'content-type': 'application/json' }
    const { statusCode, body } = await pool.request({
      method,
      path: at,
      headers,
      body: JSON.stringify(object),
    })
    const said = await body.text()
    if (statusCode < 300) return JSON.parse(said)
    throw new Error(`${method} ${at} is answered with ${statusCode}: ${said.slice(0, 200)}`)
  }
  try {
    await send('POST', '/api/v1/namespaces', {
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name: namespace },
    })
    await inTurn(objects, i => send('POST', path, objectOf(i, 0)))
    const { body } = await pool.request({ method: 'GET', path: `${path}?limit=1` })
    const { metadata } = (await body.json()) as { metadata: { resourceVersion: string } }
    await inTurn(events, i =>
      send('PUT', `${path}/object-${i % objects}`, objectOf(i % objects, i + 1)),
    )
    return { namespace, revision: metadata.resourceVersion }
  } finally {
    await pool.close()
  }
}

function objectOf(index: number, change: number): object {
  return {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: `object-${index}`, labels: { part: String(index % 10) } },
    data: { change: String(change), text },
  }
}

/** Does something so many times, some at once, and never the same index modulo a number of objects
 *  twice at once if there are more objects than writers. */
async function inTurn(count: number, task: (index: number) => Promise<unknown>): Promise<void> {
  let next = 0
  const work = async (): Promise<void> => {
    while (next < count) await task(next++)
  }
  await Promise.all(Array.from({ length: writersMax }, work))
}

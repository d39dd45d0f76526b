/** A definition that is deleted: its watches tell of the end of each object, and end when it is
 *  gone. */

import t from 'tap'
import { keyFromText, singleKey } from '../../lib/base/keys.ts'
import { admin, startDoor } from '../support/attacks/door.ts'
import { ask, connect } from '../support/attacks/ask.ts'

const path = '/apis/example.com/v1/namespaces/default/widgets'
const name = 'widgets.example.com'
const definition = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name },
  spec: {
    group: 'example.com',
    names: { plural: 'widgets', kind: 'Widget' },
    scope: 'Namespaced',
    versions: [{ name: 'v1', served: true, storage: true }],
  },
  status: {
    acceptedNames: { plural: 'widgets', kind: 'Widget' },
    conditions: ['NamesAccepted', 'Established'].map(type => ({ type, status: 'True' })),
  },
}

t.test('watches tell of each object that goes with its definition', async t => {
  const crds = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
  const door = await startDoor(t, { objects: [[crds, definition]], mirrorsAll: true })
  const write = { ...admin, 'content-type': 'application/json' }
  const widget = { apiVersion: 'example.com/v1', kind: 'Widget', metadata: { name: 'w' } }
  const body = JSON.stringify(widget)
  let made = await ask(door, '1.1', { method: 'POST', path, headers: write, body })
  while (made.status !== 201) {
    // The upstream takes a moment to know the definition.
    await new Promise(resolve => setTimeout(resolve, 20))
    made = await ask(door, '1.1', { method: 'POST', path, headers: write, body })
  }
  for (;;) {
    const { headers } = await ask(door, '1.1', { path, headers: admin })
    if (String(headers['x-watchglass']).startsWith('mirror')) break
    await new Promise(resolve => setTimeout(resolve, 20))
  }
  // The comparisons of a resource begin anew when its OpenAPI becomes known: a watch may still
  // pass.
  for (;;) {
    const query = 'watch=1&timeoutSeconds=1'
    const { headers } = await ask(door, '1.1', { path: `${path}?${query}`, headers: admin })
    if (String(headers['x-watchglass']).startsWith('mirror')) break
  }
  let text = ''
  let ended = Promise.resolve()
  let sockets = 0
  /** Watches as an informer does: from the last revision that it saw, again when a watch has
   *  ended in order. */
  const watch = async (): Promise<void> => {
    const socket = await connect(door)
    t.teardown(() => socket.destroy())
    sockets++
    const revision = [...text.matchAll(/"resourceVersion":"(\d+)"/g)].at(-1)?.[1] ?? ''
    let answer = ''
    ended = new Promise<void>(resolve => {
      socket.on('data', (piece: Buffer) => {
        answer += piece.toString()
        text += piece.toString()
        if (!answer.endsWith('0\r\n\r\n')) return
        resolve()
        if (!text.includes('DELETED')) void watch()
      })
      socket.on('close', () => resolve())
    })
    const authorization = `Authorization: ${admin.authorization}`
    const query = `watch=1&resourceVersion=${revision}`
    socket.write(`GET ${path}?${query} HTTP/1.1\r\nHost: localhost\r\n${authorization}\r\n\r\n`)
  }
  await watch()
  const saw = async (what: string): Promise<void> => {
    while (!text.includes(what)) await new Promise(resolve => setTimeout(resolve, 10))
  }
  await saw('ADDED')
  const key = keyFromText(`/registry/apiextensions.k8s.io/customresourcedefinitions/${name}`)
  const { entries } = await door.etcd.range({ range: singleKey(key) })
  const stored = Buffer.from(entries[0]?.value ?? '').toString()
  // A mark is all that a server writes then.
  const value = Buffer.from(
    stored.replace('"metadata":{', '"metadata":{"deletionTimestamp":"2026-11-22T00:00:00Z",'),
  )
  await door.etcd.txn({ compares: [], success: [{ type: 'put', key, value }], failure: [] })
  await new Promise(resolve => setTimeout(resolve, 200))
  t.notMatch(text, /\r\n0\r\n\r\n/, 'it goes on while the definition is being deleted')
  const object = singleKey(keyFromText('/registry/example.com/widgets/default/w'))
  const remove = (range: typeof object): Promise<unknown> =>
    door.etcd.txn({ compares: [], success: [{ type: 'delete', range }], failure: [] })
  await remove(object)
  await saw('DELETED')
  await remove(singleKey(key))
  await ended
  t.match(text, /DELETED[^]*\r\n0\r\n\r\n$/, 'and ends in order with it')
  // On a busy machine its event may be neither compared in time nor sent by the upstream, and then
  // the first one ends before it, and the second one passes.
  t.ok(sockets <= 2, 'no watch ends for a mark')
  const ofMirror = text.match(/x-watchglass: mirror/gi)?.length ?? 0
  t.equal(ofMirror, 1)
})

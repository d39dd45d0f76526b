import * as net from 'node:net'
import t from 'tap'
import { ask, startServed } from '../../../support/http/served.ts'
import {
  all,
  large,
  put,
  putBytes,
  remove,
  streaming,
  told,
  untilWatches,
  watch,
} from '../../../support/watch/watch-served.ts'

for (const version of ['1.1', '2'] as const) {
  t.test(`over HTTP/${version}, a watch tells what comes after its revision`, async t => {
    const served = await startServed(t)
    const before = await put(served, 'a')
    const later = await put(served, 'b')
    const stream = await watch(t, served, `${all}&resourceVersion=${before}`, { version })
    t.equal(stream.status, 200)
    t.equal(stream.type, 'application/json')
    t.strictSame(await told(stream, 1), [`ADDED b@${later}`])
    const changed = await put(served, 'a', { x: 'y' })
    const removed = await remove(served, 'b')
    t.strictSame(await told(stream, 2), [`MODIFIED a@${changed}`, `DELETED b@${removed}`])
  })

  t.test(`over HTTP/${version}, a watch from any state begins with what there is`, async t => {
    const served = await startServed(t)
    const a = await put(served, 'a')
    const b = await put(served, 'b/b')
    for (const from of ['', '&resourceVersion=0', '&resourceVersion=']) {
      const stream = await watch(t, served, all + from, { version })
      t.strictSame(await told(stream, 2), [`ADDED a@${a}`, `ADDED b@${b}`], from)
    }
    const one = await watch(t, served, '/api/v1/watch/namespaces/b/configmaps/b', { version })
    t.strictSame(await told(one, 1), [`ADDED b@${b}`])
  })

  t.test(`over HTTP/${version}, a client that leaves is forgotten`, async t => {
    const served = await startServed(t)
    const at = await put(served, 'a')
    const streams = []
    for (let i = 0; i < 5; i++) {
      streams.push(await watch(t, served, `${all}&resourceVersion=${at}`, { version }))
    }
    await untilWatches(served, 5)
    for (const stream of streams) stream.close()
    await untilWatches(served, 0)
    t.pass()
  })

  t.test(`over HTTP/${version}, watches end in order when the server stops`, async t => {
    const served = await startServed(t)
    const at = await put(served, 'a')
    const stream = await watch(t, served, `${all}&resourceVersion=${at}`, { version })
    await untilWatches(served, 1)
    const [end] = await Promise.all([stream.next(), served.service.stop()])
    t.equal(end, undefined)
  })
}

t.test('a client that has ended its side is gone, half-closed or not', async t => {
  const served = await startServed(t)
  const at = await put(served, 'a')
  const socket = net.connect({ host: '127.0.0.1', port: served.service.port, allowHalfOpen: true })
  t.teardown(() => socket.destroy())
  socket.write(`GET ${all}&resourceVersion=${at} HTTP/1.1\r\nHost: a\r\n\r\n`)
  await new Promise(resolve => socket.once('data', resolve))
  await untilWatches(served, 1)
  socket.end()
  await untilWatches(served, 0)
  t.pass()
})

t.test('a client that was reset while much waited for it is forgotten', async t => {
  const served = await startServed(t)
  const at = await put(served, 'a')
  const socket = net.connect({ host: '127.0.0.1', port: served.service.port })
  socket.on('error', () => {})
  socket.write(`GET ${all}&resourceVersion=${at} HTTP/1.1\r\nHost: a\r\n\r\n`)
  await new Promise(resolve => socket.once('data', resolve))
  socket.pause()
  for (let i = 0; i < 100; i++) {
    await putBytes(served, `/registry/configmaps/a/m${i}`, large(100_000))
  }
  t.equal(served.service.openWatches, 1)
  socket.resetAndDestroy()
  await untilWatches(served, 0)
})

t.test('a client that reads on after a while has missed nothing', async t => {
  const served = await startServed(t)
  const at = await put(served, 'a')
  const stream = await watch(t, served, `${all}&resourceVersion=${at}`)
  const revisions: number[] = []
  for (let i = 0; i < 200; i++) {
    revisions.push(await putBytes(served, `/registry/configmaps/a/m${i}`, large(100_000)))
  }
  const seen = await told(stream, 200)
  t.strictSame(
    seen,
    revisions.map(revision => `ADDED large@${revision}`),
  )
})

t.test('what begins to be selected is ADDED, and what no longer is DELETED', async t => {
  const served = await startServed(t)
  const at = await put(served, 'other')
  const blue = await watch(t, served, `${all}&resourceVersion=${at}&labelSelector=color%3Dblue`)
  const notBlue = await watch(t, served, `${all}&resourceVersion=${at}&labelSelector=color!%3Dblue`)
  const named = await watch(
    t,
    served,
    `${all}&resourceVersion=${at}&fieldSelector=metadata.name%3Da`,
  )
  const revisions = [
    await put(served, 'a', { color: 'red' }),
    await put(served, 'a', { color: 'blue' }),
    await put(served, 'a', { color: 'blue', size: '1' }),
    await put(served, 'a', { color: 'red' }),
    await put(served, 'a', { color: 'blue' }),
    await remove(served, 'a'),
  ]
  const [r1, r2, r3, r4, r5, r6] = revisions
  t.strictSame(await told(blue, 5), [
    `ADDED a@${r2}`,
    `MODIFIED a@${r3}`,
    `DELETED a@${r4}`,
    `ADDED a@${r5}`,
    `DELETED a@${r6}`,
  ])
  t.strictSame(await told(notBlue, 4), [
    `ADDED a@${r1}`,
    `DELETED a@${r2}`,
    `ADDED a@${r4}`,
    `DELETED a@${r5}`,
  ])
  t.strictSame(await told(named, 6), [
    `ADDED a@${r1}`,
    ...[r2, r3, r4, r5].map(revision => `MODIFIED a@${revision}`),
    `DELETED a@${r6}`,
  ])
})

t.test('an object that leaves a selection is told with the state that was selected', async t => {
  const served = await startServed(t)
  const at = await put(served, 'a', { color: 'blue', size: '1' })
  const stream = await watch(t, served, `${all}&resourceVersion=${at}&labelSelector=color%3Dblue`)
  const left = await put(served, 'a', { color: 'red', size: '2' })
  const { type, object } = JSON.parse((await stream.next())!.toString()) as {
    type: string
    object: { metadata: { labels: object; resourceVersion: string } }
  }
  t.equal(type, 'DELETED')
  t.strictSame(object.metadata.labels, { color: 'blue', size: '1' })
  t.equal(object.metadata.resourceVersion, String(left))
})

t.test('a streaming list ends with a bookmark that says so, and goes on from there', async t => {
  const served = await startServed(t)
  const a = await put(served, 'a', { color: 'blue' })
  const b = await put(served, 'b')
  for (const from of ['', '&resourceVersion=', '&resourceVersion=0', `&resourceVersion=${a}`]) {
    const stream = await watch(t, served, `${all}&${streaming}${from}`)
    t.strictSame(await told(stream, 2), [`ADDED a@${a}`, `ADDED b@${b}`], from)
    const bookmark = (await stream.next())!.toString()
    t.match(bookmark, /"type":"BOOKMARK".*"k8s.io\/initial-events-end":"true"/)
    t.match(bookmark, `"resourceVersion":"${b}"`)
  }
  const selected = await watch(t, served, `${all}&${streaming}&labelSelector=color%3Dblue`)
  t.strictSame(await told(selected, 2), [`ADDED a@${a}`, `BOOKMARK @${b}`])
  const empty = await watch(t, served, `/api/v1/namespaces/none/configmaps?watch=1&${streaming}`)
  t.strictSame(await told(empty, 1), [`BOOKMARK @${b}`])
  const c = await put(served, 'c', { color: 'blue' })
  t.strictSame(await told(selected, 1), [`ADDED c@${c}`])
})

t.test('initial events that were not asked for do not come, and bookmarks neither', async t => {
  const served = await startServed(t)
  await put(served, 'a')
  const without = await watch(
    t,
    served,
    `${all}&sendInitialEvents=false&resourceVersionMatch=NotOlderThan`,
  )
  const noMarks = await watch(
    t,
    served,
    `${all}&sendInitialEvents=true&resourceVersionMatch=NotOlderThan`,
  )
  t.match(await told(noMarks, 1), [/^ADDED a/])
  const b = await put(served, 'b')
  t.strictSame(await told(without, 1), [`ADDED b@${b}`])
  t.strictSame(await told(noMarks, 1), [`ADDED b@${b}`])
})

t.test('invalid combinations are refused as kube-apiserver does', async t => {
  const served = await startServed(t)
  await put(served, 'a')
  const requires = 'sendInitialEvents requires setting resourceVersionMatch to NotOlderThan'
  const unless = 'resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided'
  const cases: readonly (readonly [string, readonly string[]])[] = [
    ['watch=1&sendInitialEvents=true', [requires]],
    ['watch=1&sendInitialEvents=false&resourceVersion=1', [requires]],
    ['watch=1&resourceVersionMatch=NotOlderThan', [unless]],
    ['watch=1&resourceVersionMatch=Exact', [unless, 'supported values: "NotOlderThan"']],
    ['watch=1&sendInitialEvents=true&resourceVersionMatch=Exact', [requires, 'Unsupported value']],
    [
      'watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&continue=x',
      ['resourceVersionMatch is forbidden when continue is provided'],
    ],
    ['sendInitialEvents=true', ['sendInitialEvents is forbidden for list']],
  ]
  for (const [query, messages] of cases) {
    const { status, body } = await ask(served.service.port, { path: `/api/v1/configmaps?${query}` })
    t.equal(status, 422, query)
    for (const message of messages) t.match(body.toString(), message.replaceAll('"', '\\"'), query)
  }
  const bad = await ask(served.service.port, { path: `${all}&resourceVersion=x` })
  t.equal(bad.status, 500)
  t.match(bad.body.toString(), /Invalid value/)
})

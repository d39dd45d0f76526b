/** Tiers of the program: those that start from what `save` wrote have what etcd has now, also from
 *  a file that is old, and from one that is damaged; an edge with some resources only has the
 *  others from the relay. */

import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { moment } from '../support/http/moment.ts'
import { ask } from '../support/http/served.ts'
import { freePort } from '../support/program/ports.ts'
import { type Imported, startProgram } from '../support/program/program.ts'

const configMaps = '/api/v1/namespaces/default/configmaps'

function write(port: number, method: 'POST' | 'DELETE', name: string): Promise<unknown> {
  const headers = { 'content-type': 'application/json' }
  const body = JSON.stringify({ metadata: { name }, data: { name } })
  const path = method === 'POST' ? configMaps : `${configMaps}/${name}`
  return ask(port, { path, method, headers, ...(method === 'POST' ? { body } : {}) })
}

/** All that is there: the revision of a list may be that of something else. */
async function itemsAt({ port }: { readonly port: number }): Promise<unknown> {
  const { body } = await ask(port, { path: configMaps })
  return (JSON.parse(body.toString()) as { items: unknown }).items
}

/** Keeps what a program warns of. */
function heard(): { readonly said: string[]; readonly imported: Imported } {
  const said: string[] = []
  const module = new URL('data:text/javascript,')
  return {
    said,
    imported: { module, onMessage: () => {}, onLog: text => void said.push(text) },
  }
}

t.test('a relay and an edge start from a checkpoint', async t => {
  const folder = t.testdir({})
  const [file, damaged] = [join(folder, 'cluster.jsonl.gz'), join(folder, 'damaged.jsonl')]
  const [etcd, relay] = [`127.0.0.1:${await freePort()}`, `127.0.0.1:${await freePort()}`]
  const first = await startProgram(t, ['--etcd-listen', etcd])
  for (let i = 0; i < 20; i++) await write(first.port, 'POST', `map-${i}`)
  for (const path of [file, damaged]) {
    const saved = spawnSync(process.execPath, ['.', 'save', path, '--etcd', `http://${etcd}`])
    t.equal(saved.status, 0, saved.stderr.toString())
  }
  await write(first.port, 'DELETE', 'map-3')
  await write(first.port, 'POST', 'map-new')
  writeFileSync(damaged, readFileSync(damaged, 'utf8').replace('"lease":"0"', '"lease":"1"'))
  const checked = spawnSync(
    process.execPath,
    ['.', 'check', '--etcd', `http://${etcd}`, '--checkpoint', file],
    { encoding: 'utf8' },
  )
  t.match(checked.stdout, /--checkpoint: \d+ objects of etcd cluster \d+ at revision \d+/)
  const expected = await itemsAt(first)
  t.match(JSON.stringify(expected), /"map-new"/)
  const { said, imported } = heard()
  const above = ['--etcd', `http://${etcd}`, '--etcd-listen', relay, '--checkpoint', file]
  const middle = await startProgram(t, above, imported)
  const below = ['--etcd', `http://${relay}`, '--checkpoint']
  const edge = await startProgram(t, [...below, file], imported)
  for (const tier of [middle, edge]) t.strictSame(await itemsAt(tier), expected)
  t.notMatch(said.join(''), /left aside/)
  await write(first.port, 'DELETE', 'map-7')
  t.notMatch((await ask(edge.port, { path: configMaps })).body.toString(), /"map-7"/)
  const last = await startProgram(t, [...below, damaged], imported)
  t.match(said.join(''), /the checkpoint is left aside.*it is damaged: its checksum/)
  t.strictSame(await itemsAt(last), await itemsAt(first))
})

t.test('an edge that mirrors some resources has the others from the relay', async t => {
  const [etcd, relay] = [`127.0.0.1:${await freePort()}`, `127.0.0.1:${await freePort()}`]
  const root = await startProgram(t, ['--etcd-listen', etcd])
  await write(root.port, 'POST', 'before')
  const below = (address: string, upstream: string): string[] =>
    `--etcd http://${address} --upstream ${upstream} --auth none --admin-listen none`.split(' ')
  const middle = await startProgram(t, [...below(etcd, root.address), '--etcd-listen', relay])
  const ofRelay = below(relay, middle.address)
  const edge = await startProgram(t, [...ofRelay, '--cache-only', 'configmaps'])
  const origin = async (path: string, wanted: RegExp): Promise<string> => {
    for (;;) {
      const { status, headers, body } = await ask(edge.port, { path })
      t.equal(status, 200)
      if (wanted.test(String(headers['x-watchglass']))) return body.toString()
      await moment()
    }
  }
  t.match(await origin(configMaps, /^mirror;/), /"before"/)
  t.match(await origin('/api/v1/namespaces', /^pass;/), /"default"/)
  await write(edge.port, 'POST', 'written-through-the-edge')
  t.match(await origin(configMaps, /^mirror;/), /"written-through-the-edge"/)
  t.match(await origin(`${configMaps}/before`, /^mirror;/), /"before"/)
})

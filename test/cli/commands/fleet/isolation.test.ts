/** Nothing of one cluster is in answers, tokens, metrics, audit, logs or caches of another: every
 *  combination of identity, path and continue token is asked, in three clusters whose objects and
 *  users have the same names but for what must not be seen. */

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { keyFromText } from '../../../../lib/base/keys.ts'
import type { Client } from '../../../../lib/etcd/client.ts'
import {
  startFleet,
  startSharedEtcd,
  temporaryFolder,
  write,
} from '../../../support/fleet/started-fleet.ts'
import { ask, askOver2, type HttpAnswer } from '../../../support/http/served.ts'
import { freePort } from '../../../support/program/ports.ts'

const names = ['red', 'green', 'blue'] as const
type Name = (typeof names)[number]

const tokenOf = (name: Name): string => `token-of-${name}`
/** A text that must be seen in one cluster only. */
const markOf = (name: Name): string => `only-in-${name}`

/** Objects of a cluster: the same names in each, and some of its own. */
async function fill(client: Client, name: Name): Promise<void> {
  const maps = ['same-1', 'same-2', 'same-3', `of-${name}`]
  for (const map of maps) {
    const object = {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: map, namespace: 'default', uid: `${map}-${markOf(name)}` },
      data: { mark: markOf(name) },
    }
    const key = keyFromText(`/${name}/configmaps/default/${map}`)
    const value = Buffer.from(JSON.stringify(object))
    await client.txn({ compares: [], success: [{ type: 'put', key, value }], failure: [] })
  }
}

interface Asked {
  /** The cluster of the path. */
  readonly path: string
  /** The cluster whose user asks; undefined: nobody. */
  readonly as?: Name | undefined
  readonly host?: string
}

t.test('nothing of one cluster is seen by another', async t => {
  const folder = temporaryFolder(t)
  const { client, endpoint } = await startSharedEtcd(t, await freePort())
  for (const name of names) {
    await fill(client, name)
    write(folder, `${name}.csv`, `${tokenOf(name)},admin,uid-${name},"system:masters"\n`)
    write(folder, `${name}.yaml`, `token-auth-file: ${name}.csv\n`)
  }
  const clusters = names.map(name => `- {name: ${name}, token-auth-file: ${name}.csv}`).join('\n')
  write(folder, 'clusters.yaml', `clusters:\n${clusters}\n`)
  const fleet = await startFleet(t, folder, {
    clusters: 'clusters.yaml',
    args: [
      '--etcd',
      endpoint,
      '--prefix',
      '/{cluster}',
      '--writable',
      '--auth',
      'rbac',
      '--audit-log',
      join(folder, '{cluster}.log'),
      '--cluster-domain',
      'fleet.example.com',
    ],
  })
  const asked = async ({ path, as, host }: Asked): Promise<HttpAnswer> => {
    const authorization = as === undefined ? {} : { Authorization: `Bearer ${tokenOf(as)}` }
    const headers = { ...authorization, 'X-Remote-User': 'admin', ...(host && { Host: host }) }
    const answer = await ask(fleet.port, { path, headers })
    if (host === undefined && path.endsWith('/same-1')) {
      const over2 = await askOver2(fleet.port, { path, headers })
      t.equal(over2.status, answer.status, `${path} over HTTP/2`)
    }
    return answer
  }
  const maps = '/api/v1/namespaces/default/configmaps'

  const tokens = new Map<Name, string>()
  for (const name of names) {
    const { body, status } = await asked({ path: `/clusters/${name}${maps}?limit=1`, as: name })
    t.equal(status, 200, name)
    const { metadata } = JSON.parse(body.toString()) as { metadata: { continue: string } }
    tokens.set(name, metadata.continue)
  }

  for (const path of names) {
    const others = names.filter(name => name !== path)
    const clean = (answer: HttpAnswer, what: string): void => {
      const text = `${JSON.stringify(answer.headers)}${answer.body.toString()}`
      for (const other of others) t.notOk(text.includes(markOf(other)), `${what}: of ${other}`)
    }
    for (const as of [...names, undefined]) {
      const base = `/clusters/${path}`
      const targets = [
        ...names.map(name => `${maps}?limit=1&continue=${tokens.get(name)}`),
        maps,
        `${maps}/same-1`,
        ...names.map(name => `${maps}/of-${name}`),
        `${maps}?watch=1&timeoutSeconds=1&resourceVersion=0&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true`,
        '/api',
        '/apis',
        '/openapi/v3',
        ...others.flatMap(other => [
          `/clusters/${other}${maps}`,
          `/../${other}${maps}`,
          `/%2e%2e/${other}${maps}`,
          `/..%2f${other}${maps}`,
          `/api/v1/namespaces/..%2f..%2f..%2f${other}/configmaps`,
        ]),
      ]
      for (const target of targets) {
        const what = `${base}${target} as ${as}`
        const answer = await asked({ path: `${base}${target}`, as })
        clean(answer, what)
        if (as !== path) t.not(answer.status, 200, what)
        for (const other of others) {
          if (as === path && target.endsWith(`/of-${other}`)) t.equal(answer.status, 404, what)
        }
        const own = target.startsWith(`${maps}?limit=1`)
        if (!own || as !== path) continue
        const isOwn = target.endsWith(`continue=${tokens.get(path)}`)
        t.equal(answer.status, isOwn ? 200 : 410, what)
      }
      const byHost = await asked({ path: maps, as, host: `${path}.fleet.example.com` })
      t.equal(byHost.status, as === path ? 200 : as === undefined ? 403 : 401)
      clean(byHost, 'by host')
    }
    const listed = await asked({ path: '/clusters', as: path })
    const { items } = JSON.parse(listed.body.toString()) as { items: { name: string }[] }
    t.strictSame(
      items.map(({ name }) => name),
      [path],
      'the list has those that have accepted the caller',
    )
    const across = async (selection: string): Promise<string> => {
      const views = `/views/clusters/${selection}/api/v1/configmaps?include=object`
      const answer = await asked({ path: views, as: path })
      clean(answer, views)
      return answer.body.toString()
    }
    t.ok((await across('*')).includes(markOf(path)), 'a view over all has one')
    t.match(JSON.parse(await across(others.join(','))), {
      rows: [],
      unanswered: others.toSorted().map(name => ({ name, code: 401 })),
    })
    const metrics = await ask(fleet.adminPort, { path: `/clusters/${path}/metrics` })
    const series = metrics.body
      .toString()
      .split('\n')
      .filter(line => line !== '' && !line.startsWith('#'))
    t.ok(series.length > 50)
    t.ok(
      series.every(line => line.includes(`{cluster="${path}"`)),
      'each series says whose it is',
    )
    for (const other of others) t.notMatch(metrics.body.toString(), `"${other}"`)
  }
  const strangers = await asked({ path: '/clusters' })
  t.strictSame((JSON.parse(strangers.body.toString()) as { items: unknown[] }).items, [])
  await fleet.stop()
  for (const name of names) {
    const audit = readFileSync(join(folder, `${name}.log`), 'utf8')
    const users = new Set(
      audit
        .trim()
        .split('\n')
        .map(line => (JSON.parse(line) as { user: { uid?: string } }).user.uid),
    )
    t.ok(users.has(`uid-${name}`))
    for (const other of names) if (other !== name) t.notOk(users.has(`uid-${other}`), other)
  }
  t.ok(
    fleet.said.every(
      ({ text, fields }) =>
        !names.some(name => `${text}${JSON.stringify(fields)}`.includes(tokenOf(name))),
    ),
    'no credentials are logged',
  )
})

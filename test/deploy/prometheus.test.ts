/** A real Prometheus scrapes a real process in front of an upstream: the metrics are well-formed,
 *  each query of the dashboards returns data, and each alert can be evaluated. */

import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import type { Test } from 'tap'
import { parse } from 'yaml'
import { startEtcdServer } from '../../lib/etcd-server/server.ts'
import {
  dashboardFile,
  dashboardJson,
  dashboards,
} from '../support/program/dashboards/dashboards.ts'
import { findPrometheus, findPromtool } from '../support/etcd/real-etcd.ts'
import { createTestEngine } from '../support/etcd/test-engine.ts'
import { freePort } from '../support/program/ports.ts'
import { startProgram } from '../support/program/program.ts'
import { configMap } from '../support/upstream/proxied.ts'
import { TestUpstream, upstreamReady } from '../support/upstream/upstream.ts'

const [prometheus, promtool] = [await findPrometheus(), await findPromtool()]
const skip = prometheus.skip || promtool.skip

/** Whatever a dashboard may select. */
const values: Readonly<Record<string, string>> = {
  $job: '.*',
  $instance: '.*',
  $__rate_interval: '10s',
}

t.test('the dashboards are made from their tables', async t => {
  for (const dashboard of dashboards) {
    const file = dashboardFile(dashboard)
    const writer = `node dist/test/support/program/write-options.js writes ${file}`
    t.equal(readFileSync(file, 'utf8'), dashboardJson(dashboard), writer)
  }
})

t.test('Prometheus reads the metrics, and each query returns data', { skip }, async t => {
  const { address, admin } = await startInFront(t)
  const stopUse = use(t, address)
  const query = await startPrometheus(t, admin)
  const queries = dashboards.flatMap(({ rows }) =>
    rows.flatMap(({ panels }) => panels.flatMap(panel => panel.queries.map(([, text]) => text))),
  )
  t.ok(queries.length > 40)
  let empty = [...new Set(queries)]
  for (let i = 0; i < 120 && empty.length > 0; i++) {
    await pause(250)
    const results = await Promise.all(empty.map(query))
    empty = empty.filter((_, i) => results[i] === 0)
  }
  t.strictSame(empty, [], 'queries of dashboards without data')
  const { groups } = parse(readFileSync('deploy/alerts.yaml', 'utf8')) as {
    groups: { rules: { expr: string }[] }[]
  }
  for (const { expr } of groups.flatMap(({ rules }) => rules)) await query(expr)
  const metrics = await (await fetch(`${admin}/metrics`)).text()
  t.equal(await checked(metrics), '', 'promtool check metrics')
  await stopUse()
})

/** The program in front of an upstream, with everything on that has metrics. */
async function startInFront(t: Test): Promise<{ address: string; admin: string }> {
  const { engine, client } = createTestEngine(t)
  const etcd = await startEtcdServer({ engine, listen: '127.0.0.1:0' })
  const upstream = await TestUpstream.start({ client })
  t.teardown(async () => {
    await upstream.stop()
    await etcd.close()
  })
  await upstreamReady(upstream)
  await upstream.create(maps, configMap('a', '1'))
  const admin = `http://127.0.0.1:${await freePort()}`
  const options = [
    `--etcd http://${etcd.address} --upstream ${upstream.url} --auth none`,
    `--admin-listen ${admin} --memory-budget 256MiB --compare 50%`,
    '--upstream-ca test/support/certs/ca.pem',
  ]
  const { address } = await startProgram(t, options.join(' ').split(' '))
  return { address, admin }
}

const maps = '/api/v1/namespaces/default/configmaps'

/** Keeps reading, watching and writing until the answer is called. */
function use(t: Test, address: string): () => Promise<void> {
  const stop = new AbortController()
  const { signal } = stop
  const read = (path: string): Promise<unknown> =>
    fetch(`${address}${path}`, { signal }).then(answer => answer.text())
  const work = async (): Promise<void> => {
    for (let i = 0; !signal.aborted; i++) {
      for (const path of [maps, `${maps}/a`, `${maps}?resourceVersion=0`, '/version']) {
        await read(path)
      }
      await fetch(`${address}${maps}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(configMap(`b${i}`, 'x')),
        signal,
      }).then(answer => answer.text())
      await pause(100)
    }
  }
  const watch = async (): Promise<void> => {
    while (!signal.aborted) await read(`${maps}?watch=1&timeoutSeconds=2`)
  }
  const all = Promise.allSettled([work(), watch(), watch()])
  const end = async (): Promise<void> => {
    stop.abort()
    await all
  }
  t.teardown(end)
  return end
}

/** Starts a Prometheus that scrapes twice a second. The answer counts the series that a query
 *  returns. */
async function startPrometheus(
  t: Test,
  target: string,
): Promise<(query: string) => Promise<number>> {
  const folder = t.testdir()
  const config = join(folder, 'prometheus.yml')
  writeFileSync(
    config,
    `global: {scrape_interval: 500ms}\nscrape_configs: [{job_name: watchglass, static_configs: [{targets: ['${new URL(target).host}']}]}]\n`,
  )
  const address = `127.0.0.1:${await freePort()}`
  const child = spawn(
    prometheus.binary,
    [
      `--config.file=${config}`,
      `--storage.tsdb.path=${join(folder, 'data')}`,
      `--web.listen-address=${address}`,
    ],
    { stdio: 'ignore', detached: false },
  )
  const exited = once(child, 'exit')
  t.teardown(async () => {
    child.kill()
    await exited
  })
  const ask = async (query: string): Promise<number> => {
    const text = query.replaceAll(/\$\w+/g, name => values[name] ?? name)
    const answer = await fetch(`http://${address}/api/v1/query`, {
      method: 'POST',
      body: new URLSearchParams({ query: text }),
    })
    const { status, error, data } = (await answer.json()) as {
      status: string
      error?: string
      data?: { result: { value: [number, string] }[] }
    }
    if (status !== 'success') throw new Error(`${text}: ${error}`)
    return data!.result.filter(({ value }) => value[1] !== 'NaN').length
  }
  for (let i = 0; i < 100; i++) {
    const isUp = await ask('up{job="watchglass"} == 1').catch(() => 0)
    if (isUp > 0) return ask
    await pause(100)
  }
  throw new Error('Prometheus has not scraped anything within 10 s')
}

/** The complaints of promtool about metrics. */
function checked(metrics: string): Promise<string> {
  return new Promise(resolve => {
    const child = execFile(promtool.binary, ['check', 'metrics'], (error, stdout, stderr) => {
      resolve(`${error?.code ?? ''}${stdout}${stderr}`)
    })
    child.stdin!.end(metrics)
  })
}

function pause(ms: number): Promise<void> {
  return new Promise(resolve => setTimeout(resolve, ms))
}

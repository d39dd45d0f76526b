import t from 'tap'
import { isForPage } from '../../../../lib/cache/http/page/answer-page.ts'
import { Figures } from '../../../../lib/cache/http/page/figures.ts'
import { bytes, count, rate, seconds, share } from '../../../../lib/cache/http/page/format.ts'
import { html, Html } from '../../../../lib/cache/http/page/html.ts'
import { renderPage } from '../../../../lib/cache/http/page/page.ts'
import type { PageSource } from '../../../../lib/cache/http/page/page-source.ts'
import type { HttpRequest } from '../../../../lib/cache/http/server/http-request.ts'
import { ask, startServed } from '../../../support/http/served.ts'

const safe = '&lt;script&gt;&quot;&amp;&#39;'

t.test('templates escape what is not HTML itself', t => {
  const hostile = `<script>"&'`
  t.equal(html`<b title="${hostile}">${hostile}</b>`.text, `<b title="${safe}">${safe}</b>`)
  t.equal(html`${[new Html('<i>'), hostile, 3, undefined, [1, 2]]}`.text, `<i>${safe}312`)
  t.end()
})
t.test('figures are written for people', t => {
  const rows: readonly (readonly [string, string])[] = [
    [count(1234567.4), '1,234,567'],
    [rate(0.25), '0.3'],
    [rate(1234), '1,234'],
    [bytes(0), '0 B'],
    [bytes(1536), '1.5 KiB'],
    [bytes(300 * 1024 ** 2), '300 MiB'],
    [seconds(0), '0 s'],
    [seconds(0.000085), '85 µs'],
    [seconds(0.0012), '1.2 ms'],
    [seconds(0.25), '250 ms'],
    [seconds(3), '3.0 s'],
    [seconds(300), '5 min'],
    [seconds(-90_000), '-25 h'],
    [seconds(864_000), '10 d'],
    [share(0), '0 %'],
    [share(0.975), '97.5 %'],
    [share(1), '100 %'],
  ]
  for (const [text, wanted] of rows) t.equal(text, wanted)
  t.end()
})

t.test('figures are read from the text of metrics', t => {
  const figures = new Figures(
    '# HELP x X.\n# TYPE x counter\nx{a="1",b="2"} 3\nx{a="1",b="q\\"\\\\\\n"} 4.5\ny 1e-5\n',
  )
  t.equal(figures.sum('x'), 7.5)
  t.equal(figures.sum('x', { b: 'q"\\\n' }), 4.5)
  t.equal(figures.sum('y'), 0.00001)
  t.equal(figures.sum('z'), 0)
  t.strictSame(
    [...figures.by('x', 'b')],
    [
      ['2', 3],
      ['q"\\\n', 4.5],
    ],
  )
  t.match(figures.show('x', { where: { b: '2' } }).text, 'data-metric="x{b=&quot;2&quot;}">3<')
  t.end()
})

t.test('the page is for browsers only', t => {
  const asks = (accept: string | undefined, method = 'GET', path = '/'): boolean =>
    isForPage({ method, headers: { accept } } as HttpRequest, path)
  t.ok(asks('text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8'))
  t.ok(asks('text/html', 'HEAD'))
  for (const accept of [undefined, '*/*', 'application/json', 'text/plain', 'text/htmlx']) {
    t.notOk(asks(accept), `${accept}`)
  }
  t.notOk(asks('text/html', 'POST'))
  t.notOk(asks('text/html', 'GET', '/api'))
  t.end()
})

t.test('names from strangers stay text', async t => {
  const hostile = '</script><script>alert(1)</script>'
  const source: PageSource = {
    version: '1',
    cluster: hostile,
    nowMs: () => 1000,
    startedMs: 0,
    metrics: async () =>
      `watchglass_etcd_calls_total{method="${hostile}",source="mirror",status="0"} 31\nwatchglass_etcd_watchers 7\nwatchglass_keyspace_entries{keyspace="${hostile}"} 3\nwatchglass_evidence_forms{state="${hostile}"} 1\n`,
    threads: 2,
    faults: () => [{ rule: hostile, met: 1 }],
    checks: [{ name: hostile, problem: () => hostile }],
    nameOf: keyspace => keyspace,
    resources: () => [
      {
        groupVersion: hostile,
        resource: hostile,
        isAnsweredHere: false,
        storedUnder: undefined,
        storedAs: undefined,
        reason: undefined,
        why: hostile,
        whatWouldChangeThat: hostile,
        remark: undefined,
        formsThatDiffer: [hostile],
        versionsDifferIn: [hostile],
      },
    ],
    versions: () => [hostile],
    servers: () => [{ name: hostile, problem: hostile, inFlight: 0 }],
    isSwitchedOff: () => false,
    traffic: async () => ({
      recent: {
        stepMs: 5000,
        requests: new Map([[hostile, [1, 2]]]),
        events: new Map(),
        latencies: new Map(),
        lag: { p50: [], p99: [] },
      },
      slow: [
        {
          endedAtMs: 0,
          verb: 'list',
          group: hostile,
          resource: hostile,
          code: 200,
          tookMs: 3000,
          reviewMs: 0,
          etcdMs: 2000,
          turnMs: 0,
          encodeMs: 1000,
          socketMs: 0,
        },
      ],
      clients: [{ client: hostile, keyspace: hostile as never, watches: 1, lagging: 1, behind: 9 }],
    }),
  }
  for (const shows of ['figures', 'all'] as const) {
    const page = await renderPage(source, shows)
    t.equal(page.match(/<script>/g)?.length, 1)
    t.match(page, /Clients have <data[^>]*>7<.*watchers\s+open.*>31</s, "calls of etcd's API")
    t.match(
      page,
      />3\.0 s<.*>–<.*>2\.0 s<.*>–<.*>1\.0 s<.*>–</s,
      'where the time of a slow one went',
    )
    t.ok(page.split('&lt;/script&gt;&lt;script&gt;alert(1)').length > 10)
    t.match(page, /Cluster <b>&lt;.*>, of <a href="..\/..\/">all clusters</, 'the way back')
    t.notMatch(page, /of the process<|Open files/, 'one cluster has no figures of the process')
  }
})

t.test('a server shows the page to browsers, and the list of paths to all others', async t => {
  const { service } = await startServed(t)
  const get = (accept: string) => ask(service.port, { path: '/', headers: { accept } })
  const { status, headers, body } = await get('text/html,*/*;q=0.8')
  t.equal(status, 200)
  t.equal(headers['content-type'], 'text/html; charset=utf-8')
  t.match(headers['content-security-policy'], /^default-src 'none'; style-src 'sha256-/)
  t.match(body.toString(), /^<!doctype html>\n<html lang="en">/)
  t.notMatch(body.toString(), /(?:src|href)="(?:https?:)?\/\//, 'nothing comes from elsewhere')
  for (const accept of ['*/*', 'application/json']) {
    t.ok('paths' in (JSON.parse((await get(accept)).body.toString()) as object), accept)
  }
})

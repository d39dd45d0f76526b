/** Nothing leaves the mirror that was not compared. The upstream tells the truth, but for what a
 *  test has it say. */

import * as http from 'node:http'
import t from 'tap'
import { ask } from '../../support/http/served.ts'
import { type Lie, startLying, until } from '../../support/upstream/lying.ts'
import {
  answeredHere,
  configMap,
  created,
  originOf,
  type Proxied,
  startProxied,
} from '../../support/upstream/proxied.ts'
import { moment } from '../../support/http/moment.ts'

const maps = '/api/v1/namespaces/default/configmaps'
const pods = '/api/v1/namespaces/default/pods'
const table = 'application/json;as=Table;g=meta.k8s.io;v=v1'

/** A pod with everything that a server would have filled in. */
function pod(name: string, spec: object = {}): unknown {
  const container = {
    name: 'c',
    image: 'i',
    imagePullPolicy: 'Always',
    terminationMessagePath: '/dev/termination-log',
    terminationMessagePolicy: 'File',
    resources: {},
  }
  const filled = {
    containers: [container],
    restartPolicy: 'Always',
    terminationGracePeriodSeconds: 30,
    dnsPolicy: 'ClusterFirst',
    securityContext: {},
    schedulerName: 'default-scheduler',
    enableServiceLinks: true,
  }
  const status = { phase: 'Pending', qosClass: 'BestEffort' }
  return { apiVersion: 'v1', kind: 'Pod', metadata: { name }, spec: { ...filled, ...spec }, status }
}

async function metricOf({ service }: Proxied, name: string): Promise<number> {
  const { body } = await ask(service.adminPort, { path: '/metrics' })
  const line = body
    .toString()
    .split('\n')
    .find(text => text.startsWith(`${name} `))
  return Number(line?.split(' ').at(-1) ?? Number.NaN)
}

t.test('an object with something new passes once, and is answered here after that', async t => {
  const proxied = await startProxied(t, { objects: [[pods, pod('a')]] })
  const { get, upstream } = proxied
  await answeredHere(proxied, '', 'v1', 'pods')
  t.equal(originOf(await get(pods)), 'mirror; revision=N')
  t.equal(originOf(await get(`${pods}/a`)), 'mirror; revision=N')
  const asked = upstream.seen.length
  await created(upstream.port, pods, pod('b'))
  const alike = await until(proxied, `${pods}/b`, 'mirror')
  t.equal(alike.status, 200)
  t.notOk(
    upstream.seen.slice(asked).some(({ url }) => url.includes('fieldSelector')),
    'one that is made alike is not compared',
  )
  await created(upstream.port, pods, pod('c', { hostNetwork: true }))
  await until(proxied, `${pods}/c`, 'mirror')
  const item = upstream.seen.slice(asked).filter(({ url }) => url.includes('fieldSelector'))
  t.ok(item.length > 0, 'one with another field is')
  for (const { url } of item) {
    t.match(
      url,
      /\?resourceVersion=\d+&resourceVersionMatch=Exact&fieldSelector=metadata.name%3Dc$/,
    )
  }
})

t.test(
  'each form is compared for itself; others than the usual ones when they are asked for',
  async t => {
    const proxied = await startProxied(t, { objects: [[maps, configMap('a', '1')]] })
    await answeredHere(proxied, '', 'v1', 'configmaps')
    for (const accept of [
      'application/json',
      'application/vnd.kubernetes.protobuf',
      table,
      'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1',
    ]) {
      t.match(originOf(await proxied.get(maps, { accept })), /^mirror/, accept)
    }
    for (const accept of [
      'application/yaml',
      'application/json;as=Table;g=meta.k8s.io;v=v1beta1',
    ]) {
      t.equal(originOf(await proxied.get(maps, { accept })), 'pass; reason=unproven', accept)
      await until(proxied, maps, 'mirror', { accept })
    }
  },
)

const lies: Record<
  string,
  {
    objects: readonly (readonly [string, unknown])[]
    lie: Lie
    path: string
    accept?: string
    at: string
  }
> = {
  'another default': {
    objects: [
      [pods, pod('a')],
      [pods, pod('b', { hostNetwork: true })],
    ],
    lie: body => body.replaceAll('"hostNetwork":true', '"hostNetwork":true,"hostUsers":true'),
    path: pods,
    at: '.items[1].spec.hostUsers',
  },
  'a field that is left out': {
    objects: [[maps, configMap('a', 'planted')]],
    lie: body => body.replace(',"data":{"value":"planted"}', ''),
    path: maps,
    at: '.items[0].data',
  },
  'a field that the upstream does not know and drops': {
    objects: [
      [pods, pod('a')],
      [pods, pod('b', { hostnameOverride: 'planted' })],
    ],
    lie: body => body.replaceAll(',"hostnameOverride":"planted"', ''),
    path: pods,
    at: '.items[1].spec.hostnameOverride',
  },
  'another column': {
    objects: [[maps, configMap('a', '1')]],
    lie: (body, { headers }) =>
      String(headers.accept).includes('as=Table') ? body.replace('"Age"', '"Years"') : body,
    path: maps,
    accept: table,
    at: '.columnDefinitions[2].name',
  },
  'another field of protobuf': {
    objects: [[maps, configMap('a', 'planted')]],
    lie: body => body.replace('planted', 'plantef'),
    path: maps,
    accept: 'application/vnd.kubernetes.protobuf',
    at: '.items[0].data.*',
  },
}

for (const [what, { objects, lie, path, accept = 'application/json', at }] of Object.entries(
  lies,
)) {
  t.test(`${what}: nothing of that form is answered here`, async t => {
    const lying = await startLying(t, objects, lie)
    const headers = { accept }
    // A difference in another form may be found, and said, before this one is compared.
    const isSaid = (): boolean => lying.logged.some(line => line.includes(`"at":"${at}"`))
    const answers: string[] = []
    do {
      answers.push(originOf(await lying.get(path, headers)))
      await moment()
    } while (answers.at(-1) !== 'pass; reason=differs' || !isSaid())
    t.strictSame(
      answers.filter(origin => !origin.startsWith('pass')),
      [],
    )
    t.notMatch(lying.logged.join(), /planted/, 'nothing of its contents is logged')
    t.ok((await metricOf(lying, 'watchglass_evidence_comparisons_total{outcome="differs"}')) >= 2)
    t.comment(`${answers.length} answers, all of the upstream`)
  })
}

t.test('a difference in one form leaves the others alone', async t => {
  const lying = await startLying(t, [[maps, configMap('a', '1')]], lies['another column']!.lie)
  await until(lying, maps, 'pass; reason=differs', { accept: table })
  // Columns are of no object that could be excepted, so the form is closed; again, if the upstream
  // was found to be another one meanwhile.
  while ((await metricOf(lying, 'watchglass_evidence_forms{state="closed"}')) === 0) await moment()
  await answeredHere(lying, '', 'v1', 'configmaps')
  t.match(originOf(await lying.get(maps)), /^mirror/)
  while (lying.logged.length === 0) await moment()
  t.strictSame(
    lying.logged.filter(line => !line.includes(lies['another column']!.at)),
    [],
    'nothing is said of other forms',
  )
})

t.test('a difference of a moment closes nothing for good', async t => {
  let hasLied = false
  const lying = await startLying(t, [[maps, configMap('a', '1')]], (body, { url }) => {
    if (hasLied || !url.includes('Exact') || !body.includes('"value":"1"')) return body
    hasLied = true
    return body.replace('"value":"1"', '"value":"2"')
  })
  // The second look comes a second later. On a slow machine nobody may ask between the two.
  await until(lying, maps, 'mirror')
  t.ok((await metricOf(lying, 'watchglass_evidence_comparisons_total{outcome="differs"}')) >= 1)
  t.strictSame(lying.logged, [])
})

t.test('an upstream that lets us not ask is passed to', async t => {
  const lying = await startLying(t, [[maps, configMap('a', '1')]], body => body)
  const { before } = lying.upstream
  lying.upstream.before = (request, body) =>
    request.url.includes('Exact') ? { code: 403, body: '{}' } : before?.(request, body)
  while (!lying.upstream.seen.some(({ url }) => url.includes('configmaps?resourceVersion='))) {
    await moment()
  }
  t.equal(originOf(await lying.get(maps)), 'pass; reason=unproven')
  t.strictSame(lying.logged, [])
})

interface Watched {
  /** Who answers. */
  readonly origin: string
  /** All that it has sent when it ends, or when there is enough. */
  readonly text: Promise<string>
}

function watched(port: number, path: string, enough: RegExp): Promise<Watched> {
  return new Promise((resolve, reject) => {
    const request = http.get({ host: '127.0.0.1', port, path }, answer => {
      let text = ''
      const whole = new Promise<string>(done => {
        answer.on('data', (piece: Buffer) => {
          text += piece.toString()
          if (!enough.test(text)) return
          done(text)
          request.destroy()
        })
        answer.on('end', () => done(`${text} over`))
        answer.on('error', () => done(text))
      })
      resolve({ origin: String(answer.headers['x-watchglass']), text: whole })
    })
    request.on('error', reject)
  })
}

t.test('an event with something new waits until it was compared', async t => {
  const lying = await startLying(t, [[pods, pod('a')]], body => body)
  await answeredHere(lying, '', 'v1', 'pods')
  const { origin, text } = await watched(lying.port, `${pods}?watch=1`, /{"name":"c","namespace"/)
  await created(lying.upstream.port, pods, pod('b', { hostNetwork: true }))
  await created(lying.upstream.port, pods, pod('c'))
  t.match(origin, /^mirror/)
  t.match(await text, /"name":"a".*"name":"b".*"name":"c"/s)
  t.ok(lying.upstream.seen.some(({ url }) => url.includes('fieldSelector=metadata.name%3Db')))
})

t.test(
  'an event that can neither be compared nor asked for ends the watch, and those that come again pass',
  async t => {
    const lying = await startLying(t, [[pods, pod('a')]], body => body)
    await answeredHere(lying, '', 'v1', 'pods')
    const { before } = lying.upstream
    lying.upstream.before = (request, body) =>
      request.url.includes('fieldSelector') ? { code: 503, body: '{}' } : before?.(request, body)
    const { origin, text } = await watched(lying.port, `${pods}?watch=1`, /hostNetwork/)
    await created(lying.upstream.port, pods, pod('b', { hostNetwork: true }))
    t.match(origin, /^mirror/)
    t.match(await text, /"name":"a".* over$/s)
    t.notMatch(await text, /hostNetwork/)
    const again = await watched(lying.port, `${pods}?watch=1`, /./)
    t.equal(again.origin, 'pass; reason=unproven')
    await again.text
    lying.upstream.before = before
    await until(lying, pods, 'mirror')
    const last = await watched(lying.port, `${pods}?watch=1`, /hostNetwork/)
    t.match(last.origin, /^mirror/)
    t.match(await last.text, /hostNetwork/)
  },
)

t.test('another version of the upstream begins all anew', async t => {
  const lying = await startLying(t, [[maps, configMap('a', '1')]], body => body)
  await answeredHere(lying, '', 'v1', 'configmaps')
  const before = await metricOf(lying, 'watchglass_evidence_comparisons_total{outcome="same"}')
  lying.lie = (body, { url }) =>
    url === '/version'
      ? body.replace(/"gitVersion": *"[^"]*"/, '"gitVersion": "v1.36.99"')
      : body.replace('"value":"1"', '"value":"2"')
  lying.service.knowledge?.upstreamIsBack()
  await until(lying, maps, 'pass; reason=differs')
  t.ok(before > 0)
})

t.test(
  'after a restart, answers go on while the version cannot be had, and are those of another minor as soon as it says so',
  async t => {
    const templates = '/api/v1/namespaces/default/podtemplates'
    const { spec } = pod('a') as { spec: unknown }
    const template = { metadata: { labels: { a: 'b' } }, spec }
    const object = { apiVersion: 'v1', kind: 'PodTemplate', metadata: { name: 'a' }, template }
    const lying = await startLying(t, [[templates, object]], body => body)
    await answeredHere(lying, '', 'v1', 'podtemplates')
    t.notMatch((await lying.get(templates)).body.toString(), /creationTimestamp":null/)
    const { before } = lying.upstream
    let isBack = false
    let refused = 0
    lying.upstream.before = (request, body) => {
      if (isBack || request.url !== '/version') return before?.(request, body)
      refused++
      return { code: 503, body: '' }
    }
    lying.service.knowledge?.upstreamIsBack()
    while (refused < 2) {
      t.match(originOf(await lying.get(templates)), /^mirror/)
      await moment()
    }
    // 1.33 writes the time of creation of every template.
    lying.lie = (body, { url }) =>
      url === '/version'
        ? body.replaceAll(/(inor": *)"36"/g, '$1"33"').replace('v1.36.', 'v1.33.')
        : body.replaceAll(
            '"template":{"metadata":{',
            '"template":{"metadata":{"creationTimestamp":null,',
          )
    isBack = true
    lying.service.knowledge?.upstreamIsBack()
    while (lying.service.knowledge?.versions.some(({ minor }) => minor === 33) !== true) {
      await moment()
    }
    const answers: string[] = []
    for (;;) {
      const answer = await lying.get(templates)
      answers.push(`${originOf(answer)} ${answer.body.toString()}`)
      if (originOf(answer).startsWith('mirror')) break
      await moment()
    }
    const others = answers.filter(
      body => !body.includes('"template":{"metadata":{"creationTimestamp":null,"labels"'),
    )
    t.strictSame(others, [], 'every answer is as 1.33 writes it')
  },
)

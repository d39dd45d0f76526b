import { negotiateWatch } from '../../support/kube/negotiate.ts'
import t from 'tap'
import {
  type MediaType,
  type Offer,
  builtinEncodings,
  isPrettyWanted,
  mediaTypeNames,
  negotiate,
  negotiateError,
  watchContentType,
} from '../../../lib/codec/negotiate/negotiate.ts'
import { exchanges, watches, type Recorded } from '../../golden/load.ts'

const object: Offer = {
  encodings: builtinEncodings,
  objectEncodings: builtinEncodings,
  hasRouter: true,
  isList: false,
}
const list: Offer = { ...object, isList: true }
const custom: Offer = {
  ...object,
  objectEncodings: ['json', 'yaml'],
  hasRouter: false,
}

function preference(
  accept: string | undefined,
  rest: { pretty?: string; userAgent?: string } = {},
) {
  return { accept, pretty: rest.pretty, userAgent: rest.userAgent }
}

/** `json object`, `yaml Table v1beta1`, or the refusal. */
function decision(accept: string | undefined, offer: Offer = object): string {
  return textOf(negotiate(preference(accept), offer))
}

function textOf(decided: ReturnType<typeof negotiate>): string {
  if ('refusal' in decided) return decided.refusal
  const { encoding, rendering, renderingVersion, isPretty } = decided
  const version = rendering === 'object' ? '' : ` ${renderingVersion}`
  return `${encoding} ${rendering}${version}${isPretty ? ' pretty' : ''}`
}

const routed =
  '406: Not Acceptable\n\nAvailable representations: application/json, application/yaml, application/vnd.kubernetes.protobuf'
const handled =
  'only the following media types are accepted: application/json, application/yaml, application/vnd.kubernetes.protobuf'
const table = 'as=Table;v=v1;g=meta.k8s.io'

t.test('managed fields are dropped where that is served, and only they', async t => {
  const drop = 'drop=metadata.managedFields'
  const cases: readonly (readonly [accept: string, decided: string, drops: boolean])[] = [
    [`application/json;${drop}`, 'json object', true],
    [`application/json; ${drop},*/*; ${drop}`, 'json object', true],
    [`application/json;as=Table;${drop};g=meta.k8s.io;v=v1`, 'json Table v1', true],
    [`application/vnd.kubernetes.protobuf;${drop}`, 'protobuf object', true],
    [`*/*;${drop}`, 'json object', true],
    ['application/json;drop=spec, application/yaml', 'yaml object', false],
    [`application/json;${drop}, application/yaml;q=0.5`, 'json object', true],
    [`application/json;drop=spec, application/json;q=0.9;${drop}`, 'json object', true],
    [
      'application/json;drop=metadata.managedFields+metadata.managedFields, */*',
      'json object',
      false,
    ],
    ['application/json;drop=', 'json object', false],
    ['application/json;drop=spec', handled, false],
  ]
  const serving = { ...object, hasDrop: true }
  for (const [accept, decided, drops] of cases) {
    const found = negotiate(preference(accept), serving)
    t.equal(textOf(found), decided, accept)
    t.equal('drops' in found, drops, accept)
    const ignored = negotiate(preference(accept), object)
    t.notOk('refusal' in ignored || 'drops' in ignored, 'without it, nothing is dropped or refused')
  }
})

t.test('clauses are tried by quality, and then in order', async t => {
  for (const [accept, wanted] of [
    [undefined, 'json object'],
    ['', 'json object'],
    ['*/*', 'json object'],
    ['application/yaml,application/json', 'yaml object'],
    ['application/json;q=0.5,application/yaml;q=0.9', 'yaml object'],
    ['application/xml,application/json;q=0.1', 'json object'],
    ['text/html, */*;q=0.8', 'json object'],
    ['*/*,application/yaml', 'yaml object'],
    ['application/*,application/yaml', 'yaml object'],
    ['application/json;q=0', 'json object'],
    ['application/json;q=abc,application/yaml;q=0.1', 'yaml object'],
    ['application/json;q=2', 'json object'],
    ['application/json;q=1e-3,application/yaml;q=.5', 'yaml object'],
    ['application/json,,application/yaml', 'json object'],
    [' application/yaml ; q=1 ', 'yaml object'],
  ] as const) {
    t.equal(decision(accept), wanted, String(accept))
  }
})

t.test('a clause that cannot be honoured is skipped', async t => {
  for (const [accept, wanted] of [
    [`application/vnd.kubernetes.protobuf;${table},application/json`, 'json object'],
    ['application/json;as=Table;v=v9;g=meta.k8s.io,application/yaml', 'yaml object'],
    [`application/vnd.kubernetes.protobuf;${table},application/json;${table}`, 'json Table v1'],
    ['application/json;stream=other,application/yaml', 'yaml object'],
    ['application/yaml;stream=watch,application/json', 'json object'],
    ['application/json;sv=v2,application/yaml', 'yaml object'],
    ['application/json;sv=v1', 'json object'],
    ['application/json;as=;v=;g=', 'json object'],
    ['application/json;as==Table', 'json object'],
    ['application/json;export=1;pretty=1', 'json object pretty'],
    ['application/json;pretty=true', 'json object'],
  ] as const) {
    t.equal(decision(accept), wanted, accept)
  }
})

t.test('the router refuses names that it does not know, and lists say more', async t => {
  for (const accept of [
    'text/html',
    'application/*',
    '*',
    'APPLICATION/JSON',
    ';;;',
    'a,',
    'text/*',
  ]) {
    t.equal(decision(accept), routed, accept)
  }
  t.equal(
    decision('application/cbor', list),
    `${routed}, application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch`,
  )
  t.equal(decision('application/json;as=table;v=v1;g=meta.k8s.io'), handled)
})

t.test('custom resources have no router, and protobuf only for renderings', async t => {
  t.equal(decision('application/vnd.kubernetes.protobuf', custom), handled)
  t.equal(decision('application/*', custom), 'json object')
  t.equal(decision('application/vnd.kubernetes.protobuf,*/*', custom), 'json object')
  t.equal(
    decision(
      'application/vnd.kubernetes.protobuf;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io',
      custom,
    ),
    'protobuf PartialObjectMetadataList v1',
  )
  const error = negotiateError(preference('application/vnd.kubernetes.protobuf'), custom)
  t.equal(error?.encoding, 'protobuf', 'errors have a protobuf form')
})

t.test('CBOR is offered where it is switched on', async t => {
  const encodings = [...builtinEncodings, 'cbor'] as const
  const offer: Offer = { ...list, encodings, objectEncodings: encodings }
  t.equal(decision('application/cbor', offer), 'cbor object')
  t.equal(
    decision('application/cbor;as=Table;v=v1beta1;g=meta.k8s.io', offer),
    'cbor Table v1beta1',
  )
  t.match(decision('text/html', offer), 'application/cbor, application/json;stream=watch')
  t.equal(watchContentType('cbor'), 'application/cbor-seq')
})

t.test('a watch is never YAML and never pretty', async t => {
  t.equal(
    textOf(negotiateWatch(preference('application/yaml'), list)),
    'only the following media types are accepted: application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch',
  )
  t.equal(textOf(negotiateWatch(preference('*/*', { pretty: 'true' }), list)), 'json object')
})

t.test('people get indented answers unless they say otherwise', async t => {
  for (const [pretty, userAgent, wanted] of [
    [undefined, 'curl/8.5.0', true],
    [undefined, 'Wget/1.21', true],
    [undefined, 'Mozilla/5.0 (X11)', true],
    [undefined, 'Mozilla/4.0', false],
    [undefined, 'kubectl/v1.36.0 curl', false],
    ['', 'curl/8.5.0', true],
    ['false', 'curl/8.5.0', false],
    ['0', undefined, false],
    ['t', undefined, true],
    ['TRUE', undefined, true],
    ['tRue', undefined, false],
    ['yes', 'curl/8.5.0', false],
  ] as const) {
    t.equal(
      isPrettyWanted({ accept: undefined, pretty, userAgent }),
      wanted,
      `${pretty} ${userAgent}`,
    )
  }
})

t.test('recorded requests get the recorded media type, or the recorded refusal', async t => {
  let compared = 0
  for (const recorded of [...exchanges(), ...watches()].filter(isReadOfObjects)) {
    const { status, headers, body = '' } = recorded.response
    const offer = offerOf(recorded)
    const wish = preferenceOf(recorded)
    const decided =
      'frames' in recorded || /[?&]watch=(true|1)/.test(recorded.request.path)
        ? negotiateWatch(wish, offer)
        : negotiate(wish, offer)
    const name = `${recorded.id} ${wish.accept}`
    if (status === 406) {
      const isView = body.includes('you requested')
      if (isView) continue
      if (recorded.response.body_base64 !== undefined) {
        t.ok('refusal' in decided, name)
        continue
      }
      t.ok(
        'refusal' in decided && body.replaceAll('\n  ', ' ').includes(refusalIn(decided, body)),
        name,
      )
      checkErrorForm(t, recorded, name)
    } else if (status === 200 && 'encoding' in decided) {
      const wanted = String(headers['content-type'])
      const isWatch = 'frames' in recorded
      t.equal(
        isWatch ? watchContentType(decided.encoding) : mediaTypeNames[decided.encoding],
        wanted,
        name,
      )
      checkView(t, decided, body, name)
    } else {
      t.not(status, 200, name)
    }
    compared++
  }
  t.ok(compared > 600, `${compared} compared`)
})

function isReadOfObjects({ request, user, response }: Recorded): boolean {
  return (
    request.method === 'GET' &&
    user === 'admin' &&
    /^\/(api|apis)\/.*(configmaps|pods|widgets|nodes|services|events|gadgets)/.test(request.path) &&
    !/\/(log|scale)$/.test(request.path) &&
    [200, 406].includes(response.status) &&
    typeof request.headers['Accept'] !== 'object'
  )
}

function offerOf({ request }: Recorded): Offer {
  const isCustom = /example\.com/.test(request.path)
  const path = request.path.replace(/\?.*/, '')
  const isList = /\/(configmaps|pods|widgets|nodes|services|events|gadgets)\/?$/.test(path)
  return { ...(isCustom ? custom : object), isList }
}

function preferenceOf({ request }: Recorded) {
  const { Accept: accept, 'User-Agent': agent } = request.headers
  const pretty = /[?&]pretty=([^&]*)/.exec(request.path)?.[1]
  const userAgent = typeof agent === 'string' ? agent : agent?.[0]
  return { accept: accept as string | undefined, pretty, userAgent }
}

function refusalIn({ refusal }: { readonly refusal: string }, body: string): string {
  return body.startsWith('{') ? JSON.stringify(refusal).slice(1, -1) : refusal
}

/** An error that can be shown in no accepted form is indented JSON. */
function checkErrorForm(t: Test, recorded: Recorded, name: string): void {
  const form = negotiateError(preferenceOf(recorded), offerOf(recorded))
  const { body = '', headers } = recorded.response
  if (form === undefined) t.match(body, /^\{\n {2}"kind": "Status",/, name)
  else t.equal(headers['content-type'], mediaTypeNames[form.encoding], name)
}

function checkView(
  t: Test,
  { encoding, rendering, renderingVersion, isPretty }: MediaType,
  body: string,
  name: string,
): void {
  if (encoding !== 'json' || /\n\{/.test(body) || body === '') return
  t.equal(body.startsWith('{\n'), isPretty, name)
  const { kind, apiVersion } = JSON.parse(body) as { kind: string; apiVersion: string }
  if (rendering === 'object') t.notMatch(kind, /^(Table|Partial)/, name)
  else t.strictSame([kind, apiVersion], [rendering, `meta.k8s.io/${renderingVersion}`], name)
}

type Test = Pick<typeof t, 'ok' | 'equal' | 'match' | 'notMatch' | 'strictSame'>

import protobuf from 'protobufjs'
import t from 'tap'
import { openApiProtobuf } from '../../../lib/kube/documents/openapi-protobuf.ts'
import { OpenApi } from '../../../lib/kube/documents/openapi.ts'
import { digests } from '../../../lib/cache/ops/digests.ts'
import { registryAt } from '../../support/kube/kube-golden.ts'
import { readAsked } from '../../golden/asked.ts'
import { allSteps } from '../../support/steps.ts'

/** The used part of google/gnostic's OpenAPIv2.proto. */
const { root } = protobuf.parse(`
  syntax = "proto3";
  message Any { string yaml = 2; }
  message NamedAny { string name = 1; Any value = 2; }
  message Schema {
    string ref = 1; string format = 2; string description = 4; Any default = 5; double maximum = 7;
    bool exclusive_minimum = 10; int64 max_length = 11; repeated string required = 19;
    repeated Any enum = 20; Additional additional_properties = 21; Type type = 22; Items items = 23;
    repeated Schema all_of = 24; Properties properties = 25; repeated NamedAny vendor_extension = 31;
  }
  message Type { repeated string value = 1; }
  message Items { repeated Schema schema = 1; }
  message Additional { Schema schema = 1; bool boolean = 2; }
  message NamedSchema { string name = 1; Schema value = 2; }
  message Properties { repeated NamedSchema additional_properties = 1; }
  message SchemaItem { Schema schema = 1; }
  message Response { string description = 1; SchemaItem schema = 2; }
  message ResponseValue { Response response = 1; }
  message NamedResponse { string name = 1; ResponseValue value = 2; }
  message Responses { repeated NamedResponse response_code = 1; }
  message Operation { Responses responses = 9; repeated NamedAny vendor_extension = 13; }
  message PathItem { Operation get = 2; repeated NamedAny vendor_extension = 10; }
  message NamedPath { string name = 1; PathItem value = 2; }
  message Paths { repeated NamedPath path = 2; }
  message Info { string title = 1; string version = 2; }
  message Document { string swagger = 1; Info info = 2; Paths paths = 8; Properties definitions = 9; }
`)

interface Decoded {
  readonly swagger: string
  readonly info: object
  readonly paths: { readonly path: readonly object[] }
  readonly definitions: {
    readonly additionalProperties: readonly { readonly name: string; readonly value: object }[]
  }
}

function decoded(bytes: Uint8Array): Decoded {
  const type = root.lookupType('Document')
  return type.toObject(type.decode(bytes), { longs: Number }) as Decoded
}

t.test('version 2 is written an entry a step', async t => {
  const openApi = new OpenApi({ registry: registryAt(708), digests, gitVersion: 'v1.36.2' })
  const making = openApi.all()
  let steps = 0
  let made = making.next()
  for (; made.done !== true; made = making.next()) steps++
  const { paths, definitions } = JSON.parse(made.value) as { paths: object; definitions: object }
  const [written, described] = [Object.keys(paths).length, Object.keys(definitions).length]
  t.ok(steps >= 2 * written + described, `${steps} steps`)
})

t.test('no step makes more than one path or definition', async t => {
  const openApi = new OpenApi({ registry: registryAt(708), digests, gitVersion: 'v1.36.2' })
  const { paths, definitions, parameters } = JSON.parse(allSteps(openApi.all())) as {
    paths: object
    definitions: object
    parameters: object
  }
  const steps = [...openApi.allAsProtobuf()].length
  const parts = [paths, definitions, parameters].map(part => Object.keys(part).length)
  t.equal(
    steps,
    parts.reduce((sum, count) => sum + count, 0),
  )
  t.equal([...openApi.allAsProtobuf()].length, 0, 'it is kept')
})

t.test('the document of all resources says the same as its JSON', async t => {
  const openApi = new OpenApi({ registry: registryAt(708), digests, gitVersion: 'v1.36.2' })
  const json = JSON.parse(allSteps(openApi.all())) as { paths: object; definitions: object }
  const { swagger, info, paths, definitions } = decoded(allSteps(openApi.allAsProtobuf()))
  t.equal(swagger, '2.0')
  t.strictSame(info, { title: 'Kubernetes', version: 'v1.36.2' })
  t.equal(paths.path.length, Object.keys(json.paths).length)
  t.strictSame(
    definitions.additionalProperties.map(({ name }) => name),
    Object.keys(json.definitions),
  )
  const container = definitions.additionalProperties.find(
    ({ name }) => name === 'io.k8s.api.core.v1.Container',
  )
  t.match(container?.value, {
    type: { value: ['object'] },
    properties: {
      additionalProperties: [
        { name: 'args', value: { type: { value: ['array'] }, items: { schema: [{}] } } },
      ],
    },
  })
  t.match(
    paths.path.find(path => (path as { name: string }).name === '/api/v1/nodes/{name}'),
    {
      value: {
        get: {
          responses: {
            responseCode: [
              {
                name: '200',
                value: {
                  response: {
                    schema: { schema: { ref: '#/definitions/io.k8s.api.core.v1.Node' } },
                  },
                },
              },
            ],
          },
          vendorExtension: [
            { name: 'x-kubernetes-action', value: { yaml: 'get\n' } },
            {
              name: 'x-kubernetes-group-version-kind',
              value: { yaml: 'group: ""\nkind: Node\nversion: v1\n' },
            },
          ],
        },
      },
    },
  )
})

t.test(
  'schemas of custom resources are written with all that the message has a field for',
  async t => {
    const schema = {
      type: 'object',
      description: 'Grüße',
      required: ['a', 'b'],
      maximum: 1.5,
      exclusiveMinimum: true,
      maxLength: 300,
      enum: ['x', 1],
      default: { a: [1] },
      allOf: [{ type: 'string' }],
      additionalProperties: { type: 'string', format: 'byte' },
      properties: { open: { additionalProperties: true }, fields: { type: 'array', items: {} } },
      'x-kubernetes-preserve-unknown-fields': true,
      oneOf: [{ required: ['a'] }],
    }
    const { definitions } = decoded(
      allSteps(openApiProtobuf(JSON.stringify({ definitions: { a: schema } }))),
    )
    t.strictSame(JSON.parse(JSON.stringify(definitions.additionalProperties[0])), {
      name: 'a',
      value: {
        description: 'Grüße',
        default: { yaml: 'a:\n- 1\n' },
        maximum: 1.5,
        exclusiveMinimum: true,
        maxLength: 300,
        required: ['a', 'b'],
        enum: [{ yaml: 'x\n' }, { yaml: '1\n' }],
        additionalProperties: { schema: { format: 'byte', type: { value: ['string'] } } },
        type: { value: ['object'] },
        allOf: [{ type: { value: ['string'] } }],
        properties: {
          additionalProperties: [
            { name: 'open', value: { additionalProperties: { boolean: true } } },
            { name: 'fields', value: { type: { value: ['array'] }, items: { schema: [{}] } } },
          ],
        },
        vendorExtension: [
          { name: 'x-kubernetes-preserve-unknown-fields', value: { yaml: 'true\n' } },
        ],
      },
    })
  },
)

t.test('a document has the bytes that a server wrote, in another order', async t => {
  const asked = readAsked('aggregated/exchanges.jsonl.gz').filter(
    ({ request }) => request.path === '/openapi/v2',
  )
  const json = asked.find(({ response }) => response.body?.startsWith('{"swagger"') === true)
  const binary = asked.find(({ response }) => response.body_base64 !== undefined)
  const theirs = Buffer.from(binary!.response.body_base64!, 'base64')
  const ours = Buffer.from(allSteps(openApiProtobuf(json!.response.body!)))
  // Neither maps nor messages have an order that counts.
  t.ok(Buffer.from(ours.toSorted()).equals(Buffer.from(theirs.toSorted())))
})

import { strict as assert } from 'node:assert'
import t from 'tap'
import fc from 'fast-check'
import { JsonVerifier } from '../../../../lib/codec/json/verify.ts'
import { rootMetadataNode } from '../../../../lib/codec/served/structural/object-meta-node.ts'
import { compileRoot, verifyNodeOf } from '../../../../lib/codec/served/structural/schema.ts'
import { kindOf, objectWith, served, viewText } from '../../../support/kube/custom.ts'
import { goJson } from '../../../support/kube/go-json.ts'
import { type Parsed, type Schema, readValue } from './oracle.ts'

/** Schemas of few names, so that values meet them. */
const name = fc.constantFrom('a', 'b', 'c', 'd')
const { value: smallValue, schema: anySchema } = fc.letrec<{ value: Parsed; schema: Schema }>(
  tie => ({
    value: fc.oneof(
      { depthSize: 'medium', withCrossShrink: true },
      fc.constantFrom<Parsed>(null, 1, 'x', true),
      fc.array(tie('value'), { maxLength: 3 }),
      fc.dictionary(name, tie('value'), { maxKeys: 4, noNullPrototype: true }),
    ),
    schema: fc.oneof(
      { depthSize: 'medium', withCrossShrink: true },
      fc.constant<Schema>({}),
      fc.record(
        {
          properties: fc.dictionary(name, tie('schema'), { maxKeys: 4, noNullPrototype: true }),
          additionalProperties: fc.oneof(tie('schema'), fc.constant(true as const)),
          items: tie('schema'),
          nullable: fc.boolean(),
          default: tie('value'),
          'x-kubernetes-preserve-unknown-fields': fc.constant(true as const),
        },
        { requiredKeys: [] },
      ),
    ),
  }),
)

t.test(
  'schemas prune and default as the naive oracle does, in one version and across two',
  async () => {
    fc.assert(
      fc.property(
        anySchema,
        anySchema,
        smallValue,
        fc.boolean(),
        (first, second, value, hasExtra) => {
          const v1: Schema = { properties: { spec: first } }
          const v2: Schema = { properties: { spec: second } }
          const kind = kindOf({ v1, v2 })
          const parts = hasExtra ? { spec: value, extra: 1 } : { spec: value }
          const stored = objectWith(parts)
          for (const version of ['v1', 'v2']) {
            const rest = readValue(parts, v1, version === 'v2' ? v2 : undefined)
            const wanted = served(objectWith(rest as object), version)
            assert.equal(viewText(kind, goJson(stored), version), wanted)
            // The outcome is served as it is from then on.
            assert.equal(
              viewText(kind, goJson(objectWith(rest as object))),
              served(objectWith(readValue(rest, v1) as object)),
            )
          }
        },
      ),
      { numRuns: 750 },
    )
  },
)

t.test(
  'the verifier proves exactly those objects unchanged that the oracle leaves alone',
  async t => {
    const verifier = new JsonVerifier()
    let unchanged = 0
    fc.assert(
      fc.property(anySchema, smallValue, (schema, value) => {
        const v1: Schema = { properties: { spec: schema } }
        const object = objectWith({ spec: value })
        const bytes = Buffer.from(goJson(object))
        const isLeftAlone = goJson(readValue({ spec: value }, v1)) === goJson({ spec: value })
        const root = verifyNodeOf(compileRoot(v1))
        const options = { order: 'sorted', root, metadata: rootMetadataNode } as const
        assert.equal(verifier.verify(bytes, 0, bytes.length, options), isLeftAlone)
        if (isLeftAlone) unchanged++
      }),
      { numRuns: 1000 },
    )
    t.ok(unchanged > 100, `${unchanged} objects were left alone`)
  },
)

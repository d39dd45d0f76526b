/** The rules of OpenAPI schemas, each by itself: a schema, a value as JSON, and the errors of
 *  the value at `spec`. The texts are those of kube-openapi's validation package, and of field
 *  errors. */

import t from 'tap'
import { inSlices } from '../../../lib/base/slice.ts'
import { openApiSchema } from '../../../lib/writes/custom/open-api-schema.ts'
import { schemaErrors } from '../../../lib/writes/custom/schema-check.ts'
import { parseTree } from '../../../lib/go/json/tree.ts'
import { SlowClock } from '../../support/fake-clock.ts'

type Row = readonly [rule: string, schema: object, value: string, errors: readonly string[]]

const rows: readonly Row[] = [
  [
    'checkType',
    { type: 'string' },
    '1',
    ['spec: Invalid value: "integer":  in body must be of type string: "integer"'],
  ],
  ['checkType', { type: 'string' }, '"a"', []],
  ['checkType', { type: 'integer' }, '1', []],
  [
    'checkType',
    { type: 'integer' },
    '1.5',
    [
      'spec: Invalid value: "number":  in body must be of type integer: "number"',
      'spec: Invalid value: "": Checked value must be of type integer (default format) in ',
    ],
  ],
  ['checkType', { type: 'integer' }, '1.0', []],
  ['checkType', { type: 'number' }, '1', []],
  [
    'checkType',
    { type: 'number' },
    '"1"',
    ['spec: Invalid value: "string":  in body must be of type number: "string"'],
  ],
  [
    'checkType',
    { type: 'boolean' },
    '"true"',
    ['spec: Invalid value: "string":  in body must be of type boolean: "string"'],
  ],
  ['checkType', { type: 'boolean' }, 'true', []],
  [
    'checkType',
    { type: 'array' },
    '{}',
    ['spec: Invalid value: "object":  in body must be of type array: "object"'],
  ],
  [
    'checkType',
    { type: 'object' },
    '[]',
    ['spec: Invalid value: "array":  in body must be of type object: "array"'],
  ],
  [
    'checkType',
    { type: 'string' },
    'null',
    ['spec: Invalid value: "null":  in body must be of type string: "null"'],
  ],
  ['checkType', { type: 'string', nullable: true }, 'null', []],
  ['checkType', {}, 'null', []],
  ['checkType', { 'x-kubernetes-int-or-string': true }, '1', []],
  ['checkType', { 'x-kubernetes-int-or-string': true }, '"1"', []],
  [
    'checkType',
    { 'x-kubernetes-int-or-string': true },
    'true',
    ['spec: Invalid value: "boolean":  in body must be of type integer,string: "boolean"'],
  ],
  [
    'checkType',
    { type: 'integer', format: 'int32' },
    '"a"',
    ['spec: Invalid value: "string":  in body must be of type integer: "string"'],
  ],
  [
    'checkType',
    { type: 'integer', format: 'int32' },
    'true',
    ['spec: Invalid value: "":  in body must be of type int32: ""'],
  ],
  [
    'checkType',
    { type: 'number', format: 'double' },
    '"a"',
    ['spec: Invalid value: "string":  in body must be of type number: "string"'],
  ],
  [
    'checkType',
    { type: 'integer', format: 'int64' },
    '1.5',
    [
      'spec: Invalid value: "float64":  in body must be of type int64: "float64"',
      'spec: Invalid value: "": Checked value must be of type integer with format int64 in ',
    ],
  ],
  [
    'checkText',
    { type: 'string', format: 'date' },
    '"2024-02-30"',
    ['spec: Invalid value: "2024-02-30":  in body must be of type date: "2024-02-30"'],
  ],
  [
    'checkType',
    { type: 'number', format: 'double' },
    'true',
    ['spec: Invalid value: "":  in body must be of type double: ""'],
  ],
  [
    'checkType',
    { type: 'number', format: 'float' },
    'true',
    ['spec: Invalid value: "":  in body must be of type float: ""'],
  ],
  [
    'checkType',
    { type: 'number', format: 'int32' },
    'true',
    ['spec: Invalid value: "boolean":  in body must be of type number: "boolean"'],
  ],
  [
    'checkType',
    { type: 'integer', format: 'double' },
    'true',
    ['spec: Invalid value: "boolean":  in body must be of type integer: "boolean"'],
  ],
  ['checkText', { type: 'string', format: 'date' }, '"2024-02-29"', []],
  ['checkText', { type: 'string', format: 'unknown' }, '"x"', []],
  ['checkText', { type: 'string', format: 'int32' }, '"x"', []],
  [
    'checkText',
    { format: 'date' },
    '"x"',
    ['spec: Invalid value: "x":  in body must be of type date: "x"'],
  ],
  [
    'checkText',
    { format: 'date' },
    '1',
    ['spec: Invalid value: "int64":  in body must be of type date: "int64"'],
  ],
  [
    'checkLengths',
    { type: 'string', maxLength: 2 },
    '"abc"',
    ['spec: Too long: may not be more than 2 bytes'],
  ],
  ['checkLengths', { type: 'string', maxLength: 2 }, '"ab"', []],
  [
    'checkLengths',
    { type: 'string', maxLength: 1 },
    '"ab"',
    ['spec: Too long: may not be more than 1 byte'],
  ],
  ['checkLengths', { type: 'string', maxLength: 1 }, '"😀"', []],
  [
    'checkLengths',
    { type: 'string', minLength: 2 },
    '"a"',
    ['spec: Invalid value: "a":  in body should be at least 2 chars long'],
  ],
  ['checkLengths', { type: 'string', minLength: 2 }, '"ab"', []],
  [
    'checkLengths',
    { type: 'string', pattern: '^a+$' },
    '"b"',
    ['spec: Invalid value: "b":  in body should match \'^a+$\''],
  ],
  ['checkLengths', { type: 'string', pattern: '^a+$' }, '"aa"', []],
  [
    'checkLengths',
    { type: 'string', maxLength: 0, pattern: '^b$' },
    '"a"',
    ['spec: Too long: may not be more than 0 bytes'],
  ],
  [
    'checkChoices',
    { type: 'string', enum: ['a', 'b'] },
    '"c"',
    ['spec: Unsupported value: "c": supported values: "a", "b"'],
  ],
  ['checkChoices', { type: 'string', enum: ['a', 'b'] }, '"b"', []],
  [
    'checkChoices',
    { type: 'integer', enum: [1, 2] },
    '3',
    ['spec: Unsupported value: 3: supported values: "1", "2"'],
  ],
  ['checkChoices', { type: 'integer', enum: [1, 2] }, '2', []],
  ['checkChoices', { type: 'number', enum: [1.5] }, '1.5', []],
  ['checkChoices', { type: 'number', enum: [1] }, '1.9', []],
  ['checkChoices', { enum: ['a'] }, '97', []],
  ['checkChoices', { enum: ['a'] }, '98', ['spec: Unsupported value: 98: supported values: "a"']],
  ['checkChoices', { enum: ['�'] }, '-1', []],
  ['checkChoices', { enum: ['�'] }, '1114112', []],
  ['checkChoices', { enum: [{ a: 1 }, [2], true] }, '{"a":1}', []],
  ['checkChoices', { enum: [{ a: 1 }, [2], true] }, '[2]', []],
  [
    'checkChoices',
    { enum: [{ a: 1 }, [2], true] },
    'false',
    ['spec: Unsupported value: false: supported values: "{\\"a\\":1}", "[2]", "true"'],
  ],
  [
    'checkChoices',
    { type: 'string', nullable: true, enum: ['a', null] },
    'null',
    ['spec: Unsupported value: null: supported values: "a", "null"'],
  ],
  [
    'checkChoices',
    { enum: [null, 'a'] },
    '"b"',
    ['spec: Unsupported value: "b": supported values: "null", "a"'],
  ],
  [
    'checkLimit',
    { type: 'integer', maximum: 3 },
    '4',
    ['spec: Invalid value: 4:  in body should be less than or equal to 3'],
  ],
  ['checkLimit', { type: 'integer', maximum: 3 }, '3', []],
  [
    'checkLimit',
    { type: 'integer', maximum: 3, exclusiveMaximum: true },
    '3',
    ['spec: Invalid value: 3:  in body should be less than 3'],
  ],
  ['checkLimit', { type: 'integer', maximum: 3, exclusiveMaximum: true }, '2', []],
  [
    'checkLimit',
    { type: 'integer', minimum: 3 },
    '2',
    ['spec: Invalid value: 2:  in body should be greater than or equal to 3'],
  ],
  ['checkLimit', { type: 'integer', minimum: 3 }, '3', []],
  [
    'checkLimit',
    { type: 'integer', minimum: 3, exclusiveMinimum: true },
    '3',
    ['spec: Invalid value: 3:  in body should be greater than 3'],
  ],
  [
    'checkLimit',
    { type: 'number', maximum: 1.5 },
    '1.6',
    ['spec: Invalid value: 1.6:  in body should be less than or equal to 1.5'],
  ],
  [
    'checkLimit',
    { type: 'number', maximum: 1.5 },
    '2',
    ['spec: Invalid value: 2:  in body should be less than or equal to 1'],
  ],
  ['checkLimit', { type: 'number', maximum: 1.5 }, '1', []],
  [
    'checkLimit',
    { type: 'integer', multipleOf: 3 },
    '7',
    ['spec: Invalid value: 7:  in body should be a multiple of 3'],
  ],
  ['checkLimit', { type: 'integer', multipleOf: 3 }, '9', []],
  [
    'checkLimit',
    { type: 'number', multipleOf: 0.5 },
    '1.25',
    ['spec: Invalid value: 1.25:  in body should be a multiple of 0.5'],
  ],
  ['checkLimit', { type: 'number', multipleOf: 0.5 }, '1.5', []],
  ['checkLimit', { type: 'number', multipleOf: 2.5 }, '5.0', []],
  [
    'checkLimit',
    { type: 'number', multipleOf: 2.5 },
    '6.0',
    ['spec: Invalid value: 6:  in body should be a multiple of 2.5'],
  ],
  [
    'checkLimit',
    { type: 'integer', multipleOf: 0 },
    '1',
    ['spec: Invalid value: 0: factor MultipleOf declared for  must be positive: 0'],
  ],
  [
    'checkLimit',
    { type: 'integer', multipleOf: -1 },
    '1',
    ['spec: Invalid value: -1: factor MultipleOf declared for  must be positive: -1'],
  ],
  [
    'rangeError',
    { type: 'integer', format: 'int32' },
    '2147483648',
    ['spec: Invalid value: "": Checked value must be of type integer with format int32 in '],
  ],
  ['rangeError', { type: 'integer', format: 'int32' }, '2147483647', []],
  ['rangeError', { type: 'integer', format: 'int32' }, '-2147483648', []],
  [
    'rangeError',
    { type: 'integer', format: 'int32' },
    '-2147483649',
    ['spec: Invalid value: "": Checked value must be of type integer with format int32 in '],
  ],
  [
    'rangeError',
    { type: 'integer' },
    '9223372036854775808',
    [
      'spec: Invalid value: "number":  in body must be of type integer: "number"',
      'spec: Invalid value: "": Checked value must be of type integer (default format) in ',
    ],
  ],
  [
    'rangeError',
    { type: 'integer', format: 'int64' },
    '1e300',
    [
      'spec: Invalid value: "float64":  in body must be of type int64: "float64"',
      'spec: Invalid value: "": Checked value must be of type integer with format int64 in ',
    ],
  ],
  [
    'rangeError',
    { type: 'number', format: 'float' },
    '1e39',
    ['spec: Invalid value: "": Checked value must be of type number with format float in '],
  ],
  ['rangeError', { type: 'number', format: 'float' }, '1e38', []],
  [
    'rangeError',
    { type: 'integer', format: 'int32', maximum: 3000000000 },
    '1',
    [
      'spec: Invalid value: "": Maximum boundary value must be of type integer with format int32 in ',
    ],
  ],
  ['checkAnyOf', { anyOf: [{ type: 'string' }, { type: 'integer' }] }, '1', []],
  [
    'checkAnyOf',
    { anyOf: [{ type: 'string' }, { type: 'integer' }] },
    'true',
    [
      'spec: Invalid value: "": "" must validate at least one schema (anyOf)',
      'spec: Invalid value: "boolean":  in body must be of type string: "boolean"',
    ],
  ],
  [
    'checkAnyOf',
    { anyOf: [{ type: 'string' }, { type: 'integer', maximum: 3 }] },
    '4',
    [
      'spec: Invalid value: "": "" must validate at least one schema (anyOf)',
      'spec: Invalid value: 4:  in body should be less than or equal to 3',
    ],
  ],
  ['checkOneOf', { oneOf: [{ type: 'string' }, { type: 'integer' }] }, '1', []],
  [
    'checkOneOf',
    { oneOf: [{ type: 'string' }, { type: 'integer' }] },
    'true',
    [
      'spec: Invalid value: "": "" must validate one and only one schema (oneOf). Found none valid',
      'spec: Invalid value: "boolean":  in body must be of type string: "boolean"',
    ],
  ],
  [
    'checkOneOf',
    { oneOf: [{ type: 'integer' }, { type: 'number' }] },
    '1',
    [
      'spec: Invalid value: "": "" must validate one and only one schema (oneOf). Found 2 valid alternatives',
    ],
  ],
  [
    'checkOneOf',
    { oneOf: [{ type: 'string' }, { type: 'integer', maximum: 3 }] },
    '4',
    [
      'spec: Invalid value: "": "" must validate one and only one schema (oneOf). Found none valid',
      'spec: Invalid value: 4:  in body should be less than or equal to 3',
    ],
  ],
  ['checkAllOf', { allOf: [{ minimum: 1 }, { maximum: 3 }] }, '2', []],
  [
    'checkAllOf',
    { allOf: [{ minimum: 1 }, { maximum: 3 }] },
    '4',
    [
      'spec: Invalid value: 4:  in body should be less than or equal to 3',
      'spec: Invalid value: "": "" must validate all the schemas (allOf)',
    ],
  ],
  [
    'checkAllOf',
    { allOf: [{ type: 'string' }, { type: 'boolean' }] },
    '4',
    [
      'spec: Invalid value: "integer":  in body must be of type string: "integer"',
      'spec: Invalid value: "integer":  in body must be of type boolean: "integer"',
      'spec: Invalid value: "": "" must validate all the schemas (allOf). None validated',
    ],
  ],
  [
    'checkAlternatives',
    { not: { type: 'string' } },
    '"a"',
    ['spec: Invalid value: "": "" must not validate the schema (not)'],
  ],
  ['checkAlternatives', { not: { type: 'string' } }, '1', []],
  [
    'checkList',
    { type: 'array', minItems: 2 },
    '[1]',
    ['spec: Invalid value: 1:  in body should have at least 2 items'],
  ],
  ['checkList', { type: 'array', minItems: 2 }, '[1,2]', []],
  [
    'checkList',
    { type: 'array', maxItems: 1 },
    '[1,2]',
    ['spec: Too many: 2: must have at most 1 item'],
  ],
  ['checkList', { type: 'array', maxItems: 1 }, '[1]', []],
  [
    'checkList',
    { type: 'array', uniqueItems: true },
    '[1,1]',
    ['spec: Invalid value: "":  in body shouldn\'t contain duplicates'],
  ],
  ['checkList', { type: 'array', uniqueItems: true }, '[1,2]', []],
  [
    'checkList',
    { type: 'array', items: { type: 'string' } },
    '["a",1]',
    ['spec.[1]: Invalid value: "integer": [1] in body must be of type string: "integer"'],
  ],
  [
    'checkList',
    { type: 'array', items: { type: 'array', items: { type: 'string' } } },
    '[[1]]',
    ['spec.[0][0]: Invalid value: "integer": [0][0] in body must be of type string: "integer"'],
  ],
  [
    'checkObject',
    { type: 'object', properties: { a: { type: 'string' } } },
    '{"a":1}',
    ['spec.a: Invalid value: "integer": a in body must be of type string: "integer"'],
  ],
  ['checkObject', { type: 'object', required: ['a'] }, '{}', ['spec.a: Required value']],
  ['checkObject', { type: 'object', required: ['a'] }, '{"a":1}', []],
  [
    'checkObject',
    { type: 'object', additionalProperties: false },
    '{"a":1}',
    ['spec: Invalid value: "a": .a in body is a forbidden property'],
  ],
  [
    'checkObject',
    { type: 'object', additionalProperties: { type: 'string' } },
    '{"a":1,"b":"c"}',
    ['spec.a: Invalid value: "integer": .a in body must be of type string: "integer"'],
  ],
  [
    'checkObject',
    { type: 'object', properties: { a: {} }, additionalProperties: { type: 'string' } },
    '{"a":1}',
    [],
  ],
  [
    'checkObject',
    { type: 'object', properties: { a: { type: 'object', required: ['b'] } } },
    '{"a":{}}',
    ['spec.a.b: Required value'],
  ],
  [
    'checkObject',
    {
      type: 'object',
      properties: {
        a: { type: 'array', items: { type: 'object', properties: { b: { type: 'integer' } } } },
      },
    },
    '{"a":[{"b":"x"}]}',
    ['spec.a[0].b: Invalid value: "string": a[0].b in body must be of type integer: "string"'],
  ],
  [
    'checkSize',
    { type: 'object', minProperties: 1 },
    '{}',
    ['spec: Invalid value: 0:  in body should have at least 1 properties'],
  ],
  ['checkSize', { type: 'object', minProperties: 1 }, '{"a":1}', []],
  [
    'checkSize',
    { type: 'object', maxProperties: 1 },
    '{"a":1,"b":2}',
    ['spec: Too many: 2: must have at most 1 item'],
  ],
  ['checkSize', { type: 'object', maxProperties: 1 }, '{"a":1}', []],
]

for (const rule of new Set(rows.map(([rule]) => rule))) {
  t.test(rule, async t => {
    for (const [, schema, json, expected] of rows.filter(row => row[0] === rule)) {
      const bytes = Buffer.from(json)
      const value = parseTree(bytes, 0, bytes.length)
      const steps = schemaErrors(value ?? null, openApiSchema(schema), 'spec')
      const errors = await inSlices(steps, new SlowClock())
      const texts = errors.map(({ field, message }) => `${field}: ${message}`)
      t.strictSame(texts, expected, `${JSON.stringify(schema)} ${json}`)
    }
  })
}

import t from 'tap'
import * as types from '../../../lib/cel/types.ts'
import { variableType } from '../../../lib/writes/validation/policy-expressions.ts'

t.test('a variable has the type of its expression where that is known without a schema', t => {
  const { boolType, bytesType, doubleType, durationType, intType, listOf, mapOf, nullType } = types
  const { dynType, errorType, stringType, timestampType, typeType, uintType } = types
  const known = [boolType, bytesType, doubleType, durationType, intType, nullType, stringType]
  for (const type of [...known, timestampType, uintType]) {
    t.equal(variableType(type), type, type.kind)
    t.strictSame(variableType(mapOf(stringType, listOf(type))), mapOf(stringType, listOf(type)))
  }
  for (const type of [undefined, errorType, typeType]) t.equal(variableType(type), dynType)
  t.strictSame(variableType(listOf(typeType)), listOf(dynType))
  t.end()
})

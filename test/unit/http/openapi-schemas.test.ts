import { Type } from '../../../src/contracts/schema';
import { schemaRegister } from '../../../src/http/openapi-schemas';

const thing = (field: string) => Type.Object({ [field]: Type.String() }, { $id: 'Thing' });

test('a named schema is shown once, however often it is made', () => {
  const register = schemaRegister();
  expect([register.show(thing('one')), register.show(thing('one'))]).toEqual([
    { $ref: '#/components/schemas/Thing' },
    { $ref: '#/components/schemas/Thing' },
  ]);
  expect(Object.keys(register.components())).toEqual(['Thing']);
});

test('two schemas of the same name are a mistake', () => {
  const register = schemaRegister();
  register.show(thing('one'));
  expect(() => register.show(thing('other'))).toThrow('Two different schemas are called Thing');
});

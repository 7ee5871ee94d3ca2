import { deprecationFault, deprecationHeaders } from '../../../src/domain/deprecation';

test.each([
  ['2026-11-20', '2027-11-20'],
  ['2028-02-29', '2029-03-01'],
  ['2026-11-20', '2030-01-01'],
])('since %s until %s stands', (since, sunset) => {
  expect(deprecationFault({ since, sunset })).toBeNull();
});

test.each([
  ['2026-11-20', '2027-11-19', '2027-11-20'],
  ['2026-11-20', '2026-11-20', '2027-11-20'],
  ['2028-02-29', '2029-02-28', '2029-03-01'],
])('since %s until %s is less than twelve months', (since, sunset, earliest) => {
  expect(deprecationFault({ since, sunset })).toBe(`sunset must be 12 months after since or later: ${earliest}`);
});

test('what is no date is refused', () => {
  expect(deprecationFault({ since: 'soon', sunset: '2027-11-20' })).toMatch(/must be dates/);
  expect(deprecationFault({ since: '2026-11-20', sunset: '' })).toMatch(/must be dates/);
});

test('the headers have the forms of RFC 9745 and RFC 8594', () => {
  const place = { docs: 'https://box.example/docs', id: 'oldOne' };
  expect(deprecationHeaders({ since: '2026-11-20', sunset: '2027-11-20', successor: 'newOne' }, place)).toEqual({
    Deprecation: '@1795132800',
    Sunset: 'Sat, 20 Nov 2027 00:00:00 GMT',
    Link: '<https://box.example/docs#oldOne>; rel="deprecation"; type="text/html", <https://box.example/docs#newOne>; rel="successor-version"; type="text/html"',
  });
});

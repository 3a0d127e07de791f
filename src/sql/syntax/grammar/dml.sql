select 1 as table
select 1 as array
select 1 as view
select 1 as select
select 1 as from
select 1 as with
select 1 as user
select 1 as end
select 1 as interval
select 1 table
select 1 view
select 1 end
select 1 analyze
select 1 explain
select 1 values
select 1 select
select 1 exclude
select 1 top
select 1 sort
select 1 minus
select 1 cluster
select 1 lateral
select 1 distinct
select 1 when
select 1 case
select 1 true, 2 null
select a view, b top from t
select a table from t
select a user from t
select (a) default from t
select count(*) all from t
select 'x' values from t
select a end from t
select case when a = 1 then 2 end end from t
select case a when 1 then 2 end view from t
select a as "view", b as b from t as view
select * from t view
select * from t top
select * from t sort
select * from t minus
select * from t explain
select * from t cluster
select * from t values
select * from t as values
select * from t set
select * from t start
select * from t open
select * from t format
select * from t sample
select * from t output
select * from t pivot
select * from t global
select * from t settings
select * from t qualify
select * from t anti join u using (a)
select * from t semi join u on true
select * from t asof join u on true
select * from t use
select * from t ignore
select * from t force
select * from t final
select * from t match_recognize
select * from t apply
select * from t partition
select * from t index
select * from t connect
select * from t version
select * from t at
select * from (select 1 as x) view
select * from (select 1 as x) as start (y)
select * from t as t (a, b)
select * from t t (a, b)
select * from unnest(array[1]) view
select * from unnest(array[1]) with ordinality
select * from unnest(array[1], array['x']) with ordinality as x (a, b, o)
select * from f(1) as x (a int, b text)
select * from f(1) as (a int, b text)
select * from f(1) x (a int, b text)
select * from generate_series(1, 3) as g
select * from generate_series(1, 3) with ordinality g
select * from rows from (generate_series(1, 3), generate_series(1, 5)) with ordinality as x (a, b, c)
select * from rows from (json_to_recordset('[]') as (a int, b text))
select * from lateral generate_series(1, 3)
select * from t, lateral (select t.a) x
select * from t cross join lateral (select t.a) x
select * from t left join lateral (select t.a) x on true
select * from t join lateral rows from (generate_series(1, a)) as g on true
select * from t tablesample system (10)
select * from t tablesample bernoulli (10) repeatable (5)
select * from t x tablesample system (10)
select * from t natural join u
select * from t natural left outer join u
select * from t natural full join u
select * from t join u using (a) as j
select * from t join (u join v on u.a = v.a) on t.a = u.a
select * from t join u join v on u.a = v.a on t.a = u.a
select * from (t join u using (a))
select * from (t join u using (a)) as j
select * from (t join u using (a)) j (x, y)
select * from ((t join u using (a)) left join v on true)
select * from ((select 1)) x
select * from (((select 1) union (select 2))) x
select * from (values (1, 'x'), (2, 'y')) as v (a, b)
select * from (values (1)) v
select * from (table t) x
select * from only t
select * from only (t)
select * from t *
select * from public.t * as x
select * from only t as x (a)
select * from xmltable('/x' passing '<x/>' columns a int path 'y')
select * from xmltable(xmlnamespaces('x' as y), '/x' passing by ref '<x/>' by ref columns a int path 'y' default 5 not null, o for ordinality)
select 1 fetch first (1) rows only
select 1 fetch first 1 row only
select 1 fetch next row only
select 1 fetch first rows only
select 1 fetch first (1 + 1) rows only
select 1 fetch first $1 rows only
select a from t order by a fetch first 2 rows with ties
select a from t order by a fetch first row with ties
select a from t order by a fetch next (select 1) rows only
select a from t order by a offset 1 rows fetch first 1 rows only
select a from t order by a offset 1 row fetch next 2 rows only
select a from t offset 1
select a from t offset (1) rows
select a from t offset 1 limit 1
select a from t limit 1 offset 1
select a from t limit all
select a from t limit null
select a from t limit all offset null
select a from t limit (select 1)
select a from t limit 1 + 1
select a from t limit 1.5
select a from t limit '1'
select a from t limit cast(1 as int) offset 0::bigint
select a from t fetch first 5 rows only offset 1
select a from t fetch first +1 rows only
select a from t fetch first -1 rows only
select a from t offset +1 rows
select a from t for update limit 1
select a from t limit 1 for update
select a from t for update of t nowait
select a from t for no key update skip locked
select a from t for share
select a from t for key share of t
select a from t for update for share of t
select a from t for read only
select all a from t
select distinct a from t
select distinct on (a) a, b from t order by a
select distinct on (a, b + 1) * from t
select
select from t
select where true
select from t where a = 1
select 1 where true
select 1 having true
select 1 group by ()
select 1 order by 1
select a from t group by a
select a from t group by all a
select a from t group by distinct a
select a from t group by distinct rollup (a), cube (a)
select a from t group by rollup (a)
select a, b from t group by rollup (a, b)
select a, b from t group by cube (a, (a, b))
select a, b from t group by grouping sets ((a), (b), ())
select a, b from t group by grouping sets (a, rollup (a, b), cube (a))
select a, b from t group by a, grouping sets ((b), ())
select a, grouping(a) from t group by rollup (a)
select a from t group by (a)
select a, b from t group by (a, b)
select a from t group by 1
select a from t group by ()
select a from t order by a using <
select a from t order by a using >
select a from t order by a using operator(pg_catalog.<)
select a from t order by a asc nulls first, b desc nulls last
select a from t order by a using < nulls first
select a from t order by b collate "C" desc
select a from t window w as (partition by a order by b)
select sum(a) over w from t window w as (partition by b), w2 as (w order by a)
select sum(a) over (w order by b) from t window w as (partition by b)
select sum(a) over (w) from t window w as (order by b rows unbounded preceding)
select sum(a) over () from t
select sum(a) over (order by a rows between 1 preceding and 1 following) from t
select sum(a) over (order by a range between unbounded preceding and current row) from t
select sum(a) over (order by a groups between 1 preceding and 1 following exclude ties) from t
select sum(a) over (order by a groups 1 preceding) from t
select sum(a) over (order by a rows 1 preceding exclude current row) from t
select sum(a) over (order by a rows between current row and unbounded following exclude group) from t
select sum(a) over (order by a rows between current row and unbounded following exclude no others) from t
select sum(a) over (order by a range between '1 day' preceding and '1 day' following) from t
select sum(a) over (partition by a, b order by a desc nulls last) from t
select count(*) filter (where a > 1) over (order by a) from t
select count(distinct a) filter (where a > 1) from t
select array_agg(a order by a desc nulls last, b) from t
select array_agg(all a) from t
select string_agg(distinct b, ',' order by b) from t
select percentile_cont(0.5) within group (order by a) from t
select mode() within group (order by a desc) filter (where a > 1) from t
select rank(1, 2) within group (order by a, b) from t
select concat(variadic array['a', 'b'])
select f(1, variadic array[1])
select f(a => 1, b := 2)
select f(all a) from t
select f(distinct a) from t
select f(a order by a) from t
select make_interval(days => 1)
select make_interval(days := 1)
select make_interval(1, months => 2)
select a = any (array[1, 2]) from t
select a = some (array[1, 2]) from t
select a <> all (select 1) from t
select a = any (select 1) from t
select a operator(pg_catalog.=) any (array[1]) from t
select a operator(pg_catalog.=) 1 from t
select a operator(=) 1 from t
select a operator(pg_catalog.=) all (select 1) from t
select a operator(pg_catalog.<>) some (values (1)) from t
select operator(pg_catalog.-) a from t
select operator(-) 5
select a operator(pg_catalog.+) 1 operator(pg_catalog.*) 2 from t
select b operator(pg_catalog.~) '^x' from t
select b operator(pg_catalog.~) '^(x)$' collate pg_catalog.default from t
select b operator(pg_catalog.||) 'x' from t
select b like any (array['x']) from t
select b not like all (array['x']) from t
select b ilike any (array['x']) from t
select b not ilike all ('{x}') from t
select b like some (select 'x') from t
select b ~ any (array['x']) from t
select b !~* all (array['x']) from t
select b ~~ 'x', b !~~ 'x', b ~~* 'x', b !~~* 'x' from t
select b ~~ any (array['x']) from t
select b like 'x' escape '\' from t
select b not ilike 'x' escape '' from t
select b similar to 'x' from t
select b not similar to 'x' escape 'y' from t
select a between 1 and 2 from t
select a not between symmetric 2 and 1 from t
select a between asymmetric 1 and 2 from t
select a between symmetric 1 and 2 and true from t
select a between 1 + 1 and 2 * 3 or false from t
select a in (1, 2), a not in (select 1) from t
select (a, b) in ((1, 'x'), (2, 'y')) from t
select (a, b) = (1, 'x') from t
select (a, b) in (select 1, 'x') from t
select row(a, b) = row(1, 'x') from t
select row(1), row(), row(1, 2, 'x')
select (1, 2)
select row(t.*) from t
select row(t.*, 1) from t
select (row(1, 2)).f1
select (t).a, (t).* from t
select (t.*) from t
select t from t
select (f(1)).*
select (f(1)).a
select (select t from t limit 1).a
select ((select t from t limit 1)).*
select (array[1, 2])[1]
select (array[1, 2])[1:2], (array[1, 2])[:1], (array[1, 2])[1:], (array[1,2])[:]
select array[]::int[]
select array(select 1)
select array(select a from t order by a)
select array(values (1), (2))
select array((select 1))
select '{1}'::int[], '{1}'::int array, '{1}'::int array[3]
select a::text from t
select cast(a as text) from t
select cast(a as varchar(10)) from t
select cast('1' as int array)
select cast(row(1, 2) as t)
select int '1', date '2024-01-01', timestamp '2024-01-01', time '10:00', text 'x', bool 't', float8 '1.5'
select timestamp with time zone '2024-01-01', timestamp(3) '2024-01-01', time with time zone '10:00'
select timestamptz '2024-01-01', timestamp without time zone '2024-01-01'
select interval '1' year, interval '1-2' year to month, interval '1' day
select interval '1 2:03' day to minute, interval '1' second(2), interval(3) '1 second'
select interval '1 day'
select interval '1 02:03:04' day to second(3)
select numeric '1.5', numeric(5, 2) '1.567', varchar(3) 'abcd', char(2) 'xyz', bpchar 'x', "char" 'x'
select character varying 'x', character varying(2) 'xyz', national character 'x', double precision '1'
select bit '101', bit(3) '101', bit varying '1'
select b'101', x'1f', B'1', X'F'
select e'a\nb', E'\x41', u&'\0041', U&'d\0061t\+000061', U&'d!0061' uescape '!'
select n'x', N'x'
select $$x$$, $a$ x $a$
select 'a' -- x
select pg_catalog.int4 '1'
select public.mytype 'x'
select 1::int4, 1::pg_catalog.int4, '1'::pg_catalog."numeric"(5, 2)
select 'x'::"char", 'x'::name, 't'::regclass, 'int4'::regtype, '+'::regoperator
select 'x'::character varying(5), 'x'::national character(3), 1::double precision, 1::dec(5)
select '1'::bit(3), '1'::bit varying(3), now()::timestamp(3) with time zone, now()::time without time zone
select '1 day'::interval day to second(3), '1'::interval year, '1'::interval(2)
select 1::setof int
select a is null, a is not null, a isnull, a notnull from t
select a is true, a is not false, a is unknown, a is not unknown from t
select a is distinct from 1, a is not distinct from 1 from t
select b is document, b is not document from t
select b is normalized, b is not normalized, b is nfc normalized, b is not nfkd normalized from t
select not a = 1 from t
select not not true
select a = 1 and b = 'x' or not c from t
select - a, + a, ~ a, @ a, |/ a, ||/ a from t
select - - a from t
select !! a from t
select a ^ 2, a % 3, a # 1, a & 1, a | 1, a << 1, a >> 1 from t
select a <> 1, a != 1, a <= 1, a >= 1 from t
select j -> 'a', j ->> 'a', j #> '{a}', j #>> '{a}', j @> '{}', j <@ '{}', j ? 'a', j ?| array['a'], j ?& array['a'], j - 'a', j #- '{a}', j @? '$', j @@ '$' from t
select j['a'], j['a']['b'], (j)['a'] from t
select a && b, a -|- b, a &< b, a &> b, a << b, a <<= b, a >>= b, a ~= b, a <-> b, a @@@ b, a ?-| b, a ## b from t
select a *<> b, a *= b, a *< b from t
select b ^@ 'x', starts_with(b, 'x') from t
select a at time zone 'utc' from t
select c at time zone interval '1 hour' at time zone 'utc' from t
select b collate "C" from t
select t.b collate "C" from t
select t.b collate pg_catalog."C" from t
select public.t.b collate "C" from t
select (b || 'x') collate "C" from t
select b || 'x' collate "C" < 'z' from t
select 'x' collate "C", lower(b) collate "C", b::text collate "C", (b) collate "default" from t
select b collate "C" like 'x%' from t
select min(t.b collate "C") from t
select a from t where t.b collate "C" > 'x' order by t.b collate "C" desc
select a from t group by t.b collate "C", a
select case b collate "C" when 'x' then 1 end from t
select case when a = 1 then 2 else 3 end from t
select case a when 1 then 2 when 3 then 4 end from t
select coalesce(a, 1), nullif(a, 1), greatest(a, 1), least(a, 1) from t
select extract(year from c), extract('year' from c), extract("year" from c), extract(foo from c) from t
select position('a' in b), substring(b from 1 for 2), substring(b for 2), substring(b from 1), substring(b, 1, 2), substring(b similar 'x' escape 'y') from t
select substring(b from 'x' for '#'), substring(b for 2 from 1) from t
select overlay(b placing 'x' from 1 for 2), overlay(b placing 'x' from 1), overlay(b, 'x', 1) from t
select trim(b), trim(both from b), trim(both 'x' from b), trim(leading from b), trim(trailing 'x' from b), trim('x' from b), trim(from b), trim(b, 'x'), trim(both b) from t
select trim(leading b), trim(trailing b, 'x') from t
select normalize(b), normalize(b, nfc), normalize('x', nfkd)
select treat(a as int) from t
select collation for (b), collation for ('x' collate "C") from t
select current_date, current_time, current_time(3), current_timestamp, current_timestamp(3), localtime, localtime(0), localtimestamp, localtimestamp(2)
select current_user, session_user, user, current_role, current_catalog, current_schema, system_user
select current_schema(), current_user, now()
select xmlconcat('<a/>', '<b/>'), xmlelement(name a), xmlelement(name a, xmlattributes('x' as b), 'y'), xmlforest(a as b) from t
select xmlparse(document '<a/>'), xmlparse(content 'x' preserve whitespace), xmlpi(name x), xmlpi(name x, 'y'), xmlroot('<a/>', version '1.0', standalone yes), xmlserialize(content '<a/>' as text), xmlexists('//a' passing by value '<a/>')
select exists (select 1), not exists (select from t)
select (select 1), (select a from t limit 1)
select (((select 1)))
select ((1 + 2) * 3)
select (1, 2) overlaps (3, 4)
select (date '2024-01-01', date '2024-01-02') overlaps (date '2024-01-01', interval '1 day')
select grouping(a) from t group by a
select cast(null as int)
select null, true, false
select t.* from t
select public.t.* from public.t
select db.public.t.a from db.public.t
select t.a.b.c from t
select *, a from t
select a, * from t
select "a", "A b" as "C d", a as c from t
select a as a1, b b1 from t
select 1 union select 2 union all select 3 intersect select 4 except all select 5
select 1 union distinct select 2
select 1 intersect all select 2
select 1 except distinct select 2
(select 1) union (select 2) order by 1
(select 1 order by 1 limit 1) union all select 2 limit 1
((select 1))
(select 1)
(values (1))
(table t)
(with x as (select 1) select * from x)
values (1)
values (1, 2), (3, 4) order by 1 limit 1 offset 0
values (default)
values (1) union values (2)
values (1), (2) fetch first 1 rows only
table t
table only t
table t order by a limit 1
table t union table u
table public.t offset 1
table t for update
with x as (select 1) select * from x
with x (a) as (select 1) select * from x
with recursive x as (select 1 as a union all select a + 1 from x where a < 3) select * from x
with x as materialized (select 1) select * from x
with x as not materialized (select 1), y as (select 2) select * from x, y
with recursive x as (select 1 as a union all select a + 1 from x) search depth first by a set o select * from x
with recursive x as (select 1 as a union all select a + 1 from x) search breadth first by a, b set o select * from x
with recursive x as (select 1 as a union all select a + 1 from x) cycle a set c using p select * from x
with recursive x as (select 1 as a union all select a + 1 from x) cycle a, b set c to 'y' default 'n' using p select * from x
with recursive x as (select 1 as a union all select a + 1 from x) search depth first by a set o cycle a set c using p select * from x
with x as (insert into t values (1) returning *) select * from x
with x as (update t set a = 1 returning a) select * from x
with x as (delete from t returning *) insert into u select * from x
with x as (values (1)) table x
with x as (table t) select * from x
with x as (select 1) (select * from x) union select 2
with x as (select 1) values (1)
with x as (with y as (select 1) select * from y) select * from x
with x as (select 1) merge into t using u on true when matched then delete
with x as (select 1) delete from t using x
with x as (select 1) update t set a = 1 from x
select * from t where a = 1 and exists (select 1 from u where u.a = t.a)
select a from t where (a, b) > (1, 'x')
select a from t where (a, b) is null
select a from t where row(a, b) is distinct from row(1, 'x')
select a from t where (select 1) = 1
select a from t where a = (select max(a) from t)
select a from t where a > all (select 1 union select 2)
select a from t where not (a = 1)
select a from t where b is null = true
select a from t where a in (1) is true
select a from t where b like 'x' || '%'
select a from t where b not like 'x%' and b !~ 'y'
insert into t values (1)
insert into t default values
insert into t (a, b) values (1, default), (default, 'x')
insert into t (a, b) select 1, 'x'
insert into t (a, b) (select 1, 'x')
insert into t table u
insert into t (a) table u
insert into t (a) with x as (select 1) select * from x
insert into t as x (a) values (1)
insert into t as x default values
insert into t (a[1], b) values (1, 2)
insert into t (a.b, c.d[1]) values (1, 2)
insert into t (t.a) values (1)
insert into t overriding system value values (1)
insert into t (a) overriding user value select 1
insert into t (a) values (1) on conflict do nothing
insert into t (a) values (1) on conflict (a) do nothing
insert into t (a) values (1) on conflict (a) do update set b = excluded.b
insert into t as x (a) values (1) on conflict (a) where a > 0 do update set b = excluded.b, c = x.c where x.a > 1 returning *
insert into t (a) values (1) on conflict on constraint t_pkey do update set (a, b) = (1, 'x')
insert into t (a) values (1) on conflict (a) do update set (a, b) = row(1, 'x')
insert into t (a) values (1) on conflict (a) do update set (a, b) = (select 1, 'x')
insert into t (a) values (1) on conflict (a) do update set b = default
insert into t (a) values (1) on conflict (lower(b) collate "C" text_ops, (a + 1)) do nothing
insert into t (a) values (1) on conflict (a collate "C") do nothing
insert into t values (1) returning a, b as c, *
insert into t values (1) returning a + 1 table, t.*
insert into t values (1) returning a view
insert into t values ((select 1), (select 'x'))
insert into t values (1), (2) order by 1 limit 1
insert into t select * from u on conflict do nothing
insert into t select 1 from u union select 2 on conflict do nothing
insert into t (select 1) on conflict do nothing returning 1
with x as (select 1) insert into t select * from x
insert into public.t values (1)
update t set a = 1
update t set a = 1, b = default where a = 2
update only t set a = 1
update only (t) set a = 1
update t * set a = 1
update t as x set a = 1
update t x set a = x.a + 1
update t view set a = 1
update t set (a, b) = (1, 'x')
update t set (a, b) = row(1, 'x')
update t set (a, b) = (select 1, 'x')
update t set (a) = (1)
update t set (a) = row(1)
update t set (a, b) = (default, default)
update t set a[1] = 5
update t set a[1:2] = '{1,2}'
update t set a[1][2] = 5
update t set a.b = 5
update t set a.b[1] = 5, j['x'] = '1'
update t set a = 1 from u where t.a = u.a
update t set a = 1 from u join v using (a), w where true
update t set a = 1 where current of c
update t set a = 1 returning *
update t set a = 1 returning t.a as x, b top
update t set a = (select 1)
update t set a = case when a = 1 then 2 else 3 end
update t set t = 1
delete from t
delete from t where a = 1
delete from only t
delete from only (t) as x
delete from t *
delete from t as x where x.a = 1
delete from t x using u y where x.a = y.a
delete from t using u, v join w using (a)
delete from t where current of c
delete from t returning *
delete from t returning a, b view
delete from t using lateral (select 1) x
merge into t using u on t.a = u.a when matched then update set a = 1
merge into t as x using u as y on x.a = y.a when matched and x.a > 1 then update set a = 1, b = default when not matched then insert (a, b) values (1, default)
merge into t using u on true when matched then delete when not matched then insert default values
merge into t using u on true when matched then do nothing when not matched then do nothing
merge into t using (select 1 as a) s on t.a = s.a when not matched and s.a > 1 then insert values (1)
merge into only t using u on true when matched then delete
merge into t using u on true when not matched then insert (a) overriding system value values (1)
merge into t using u on true when not matched then insert overriding user value values (1)
merge into t using u on true when matched then update set (a, b) = (1, 2)
merge into t using u on true when matched then update set (a, b) = row(1, 2)
merge into t using u on true when matched then update set (a, b) = (select 1, 2)
merge into t using (values (1)) v (a) on true when matched then delete
merge into t * using only u on true when matched then delete
merge into t using u join v using (a) on true when matched then delete
explain select 1
explain analyze select 1
explain verbose select 1
explain analyze verbose select 1
explain (analyze) select 1
explain (analyze, verbose true, costs off, settings, buffers 0, wal off, timing false, summary, format json) select 1
explain (analyze 1, format 'json') select 1
explain (format text) select 1
explain (format "yaml") select 1
explain analyse select 1
explain (analyse) select 1
explain insert into t values (1)
explain update t set a = 1
explain delete from t
explain merge into t using u on true when matched then delete
explain values (1)
explain table t
explain (select 1)
explain with x as (select 1) select * from x
explain create table x as select 1
explain create table x as execute p
explain create materialized view x as select 1
explain select 1 into x
explain refresh materialized view x
explain declare c cursor for select 1
explain execute p
explain execute p(1)
explain analyze insert into t default values returning *
copy t from stdin
copy t to stdout
copy t (a, b) from stdin
copy t from stdin with (format csv, header, delimiter ',', null '', quote '"', escape '"', force_not_null (a), force_null (a, b), encoding 'UTF8', freeze false)
copy t from stdin (format text)
copy t from stdin with csv header
copy t from stdin csv
copy t from stdin with delimiter ',' null 'x' csv header quote as '"' escape '"'
copy t from stdin delimiters ','
copy t from stdin using delimiters ','
copy t from stdin with binary
copy binary t from stdin
copy t to stdout with csv force quote a, b
copy t to stdout with csv force quote *
copy t from stdin with csv force not null a, b
copy t from stdin with csv force null a
copy t from stdin with (header match)
copy t from stdin with encoding 'utf8'
copy t from stdin freeze
copy t from stdin where a > 1
copy t from stdin (format csv) where a > 1 and b = 'x'
copy (select 1) to stdout
copy (select 1 as table) to stdout
copy (values (1)) to stdout with (format csv)
copy (table t) to stdout
copy (insert into t values (1) returning *) to stdout
copy (update t set a = 1 returning *) to stdout
copy (delete from t returning *) to stdout
copy (with x as (select 1) select * from x) to stdout
copy (select 1) to stdout with (format csv, force_quote *)
copy t from '/tmp/x'
copy t to '/tmp/x'
copy t from program 'x'
copy t to program 'x'
copy public.t (a) to stdout
copy t to stdin
copy t from stdout
declare c cursor for select 1
declare c binary insensitive no scroll cursor with hold for select 1
declare c asensitive scroll cursor without hold for values (1)
declare c cursor for table t
declare c cursor for select a from t for update
declare c cursor for with x as (select 1) select * from x
fetch c
fetch next from c
fetch prior in c
fetch first c
fetch last from c
fetch absolute -5 from c
fetch relative 3 in c
fetch 5 from c
fetch -5 c
fetch all from c
fetch all c
fetch forward c
fetch forward 5 from c
fetch forward all in c
fetch backward from c
fetch backward 3 c
fetch backward all from c
fetch from c
fetch in c
move c
move 5 in c
move forward all in c
move absolute 0 c
close c
close all
prepare p as select 1
prepare p (int, text) as select $1, $2
prepare p (varchar(10), numeric(5,2)[], double precision, timestamp with time zone) as select 1
prepare p as insert into t values ($1)
prepare p as values (1)
prepare p as table t
prepare p as with x as (select 1) select * from x
prepare p as merge into t using u on true when matched then delete
prepare p as (select 1)
execute p
execute p (1, 'x', now())
deallocate p
deallocate prepare p
deallocate all
deallocate prepare all
set work_mem = '1MB'
set work_mem to 5
set work_mem to default
set work_mem = default
set local work_mem = '1MB'
set session work_mem = '1MB'
set search_path to a, b, "C"
set search_path = 'public'
set search_path = public, pg_catalog
set time zone 'utc'
set time zone local
set time zone default
set time zone utc
set time zone -5
set time zone 5.5
set time zone interval '1' hour
set time zone interval '1:00' hour to minute
set time zone interval(3) '1'
set timezone = 'utc'
set timezone to utc
set session time zone 'utc'
set local time zone 'utc'
set names 'utf8'
set names default
set names
set client_encoding to utf8
set session authorization postgres
set session authorization 'postgres'
set session authorization default
set local session authorization default
set role postgres
set role none
set role 'postgres'
set local role none
set session role none
set transaction isolation level serializable
set transaction read only, deferrable
set local transaction isolation level read committed
set session characteristics as transaction read only
set transaction snapshot 'x'
set xml option document
set xml option content
set local xml option document
set schema 'public'
set local schema 'x'
set a.b = 5
set a.b to 'x', 'y'
set a.b.c = true
set work_mem from current
set local x.y from current
set enable_seqscan = off
set enable_seqscan to on
set enable_seqscan = true
set datestyle = iso, mdy
set datestyle to 'iso', 'dmy'
set statement_timeout = 0
set geqo_threshold = +5
set x.y = -5.5
set x.y = -1e3
reset work_mem
reset all
reset time zone
reset timezone
reset session authorization
reset role
reset transaction isolation level
reset a.b
show work_mem
show all
show time zone
show timezone
show transaction isolation level
show session authorization
show a.b
show search_path
begin
begin work
begin transaction
begin isolation level serializable read only deferrable
begin transaction isolation level read committed, read write, not deferrable
start transaction
start transaction isolation level repeatable read
commit
commit work
commit transaction
commit and chain
commit and no chain
end
end work and no chain
rollback
rollback work and chain
abort
abort transaction
abort and no chain
savepoint s
release savepoint s
release s
rollback to s
rollback to savepoint s
rollback transaction to savepoint s
rollback work to s
prepare transaction 'x'
commit prepared 'x'
rollback prepared 'x'
listen c
unlisten c
unlisten *
notify c
notify c, 'x'
notify c, e'x'
